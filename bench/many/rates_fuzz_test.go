package many

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
)

// FuzzReadRates: a file of rates is read to rates above 0 and keys of which none is twice, or is an error of the file,
// no usage error.
func FuzzReadRates(f *testing.F) {
	f.Add("method,preset,data,net,availability,lr,server_lr\nmifa,code,leaf,linear-synthetic,sine,0.5,2\n")
	f.Add("\ufefflr,server_lr,method,preset,data,net,availability,acc\r\n1,1e3,a-b_C,paper,mnist,lenet5,trace,\r\n")
	f.Add("method;preset\n")
	path := filepath.Join(f.TempDir(), "rates.csv")
	f.Fuzz(func(t *testing.T, text string) {
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		rates, err := ReadRates(path)
		if err != nil {
			if settings.IsUsage(err) {
				t.Errorf("%v, want no usage error", err)
			}
			return
		}
		seen := map[RatesKey]bool{}
		for _, r := range rates.Rows {
			if seen[r.RatesKey] || !(r.LR > 0 && r.ServerLR > 0) || math.IsInf(r.LR+r.ServerLR, 0) {
				t.Errorf("%q: %+v, want each key once and finite rates above 0", text, r)
			}
			seen[r.RatesKey] = true
		}
	})
}
