package papers

import (
	"slices"
	"strings"

	"rollcall/results"
)

// TrainsAs is replaced.
func TrainsAs(method, preset, data, net string) results.Params {
	lr := map[string]string{"fedavg-known": "0.1", "fedawe": "0.1", "fedar": "0.1", "fedavg-is": "0.1", "fedavg-s": "0.1", "scaffold": "0.1"}[method]
	if lr == "" {
		lr = "0.05"
	}
	list := []string{"lr=" + lr, "server-lr=1"}
	if preset == "code" {
		list = append(list, "clip=none", "augment=batch")
	} else {
		list = append(list, "clip=0.5", "augment=sample")
	}
	if slices.Contains([]string{"unbiased", "more-available", "adafed", "ca-fed"}, method) {
		of := tonRates[data]
		if of == nil {
			of = tonRates["cifar10"]
		}
		for _, s := range of[method] {
			list = append(list, s.Flag+"="+s.Value)
		}
		list = append(list, "alpha=0.5", "split=classes", "batch=32", "local-epochs=1", "lr-schedule=constant", "weights=size")
		if strings.HasPrefix(net, "linear-") {
			list = append(list, "weight-decay=0.01")
		}
		if preset == "code" {
			list = append(list, "momentum=0.9", "weight-decay=0.01", "server-momentum=0.9", "server-weight-decay=0.01")
			if data == "leaf" || data == "binary" {
				list = append(list, "fstar=solved", "losses=held-out")
			}
		}
	}
	if slices.Contains([]string{"fedar", "fedavg-is", "fedavg-s", "scaffold"}, method) {
		list = append(list, "split=two-class", "batch=64", "local-steps=5", "weight-decay=0.001", "augment=none", "clip=none", "init=torch")
	}
	return results.NewParams(list...)
}

// SettingsOf is replaced.
func SettingsOf(p results.Params) (list []Setting) {
	for n, v := range p.All() {
		list = append(list, Setting{n, v})
	}
	return list
}
