package papers

import (
	"maps"
	"slices"
	"strings"

	"rollcall/results/plot"
)

// named is a method as tables, legends and pages show it.
type named struct{ name, title string }

// methodTitles has the methods' names on the command line and in print. The order decides their styles, see [Keys]: the
// methods of one paper's table have eight different colours.
var methodTitles = []named{
	{"fedavg-active", "FedAvg (active)"}, // FedAWE's "FedAvg over active clients"
	{"fedawe", "FedAWE"},
	{"fedau", "FedAU"},
	{"mifa", "MIFA"},
	{"fedvarp", "FedVARP"},
	{"f3ast", "F3AST"},
	{"fedavg-all", "FedAvg (all)"},
	{"fedavg-known", "FedAvg (known p)"},
	{"unbiased", "Unbiased"},
	{"ca-fed", "CA-Fed"},
	{"adafed", "AdaFed"},
	{"more-available", "More available"},
	{"mifa-wait", "MIFA (waiting)"},
	{"fedar", "FedAR"},
	{"fedavg-is", "FedAvg-IS"},
	{"fedavg-s", "FedAvg-S"},
	{"scaffold", "SCAFFOLD"},
}

var dataTitles = map[string]string{
	"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "svhn": "SVHN", "cinic10": "CINIC-10", "mnist": "MNIST",
	"fashion-mnist": "Fashion-MNIST", "femnist": "FEMNIST", "leaf": "LEAF synthetic", "binary": "Binary",
	"synthetic": "generated images",
}

// MethodTitle returns the name of a method in print, "FedAWE" for fedawe. A method of a user's own has its own name.
func MethodTitle(method string) string {
	for _, m := range methodTitles {
		if m.name == method {
			return m.title
		}
	}
	return method
}

// DataTitle returns the name of a data set in print, "CIFAR-10" for cifar10.
func DataTitle(data string) string {
	if title, known := dataTitles[data]; known {
		return title
	}
	return data
}

// Keys returns the legend of a figure. A name that begins with a method, "fedau lr=0.1", has the method's name in
// print, and the method's style if no other name begins with it. methods are all methods that are shown together, in
// their order: each has the same style in all figures with these methods, and eight have different colours.
func Keys(methods, names []string) map[string]plot.Key {
	styles := stylesOf(methods)
	of := map[string][]string{} // by method: the names that begin with it
	for _, name := range names {
		method := MethodOf(name, methods)
		of[method] = append(of[method], name)
	}
	var taken []int // if methods are shown, by their styles
	if len(of) > 1 || len(of[""]) == 0 {
		taken = slices.Collect(maps.Values(styles))
	}
	keys := map[string]plot.Key{}
	for _, name := range names {
		method := MethodOf(name, methods)
		style, has := styles[method]
		if !has || len(of[method]) > 1 && name != method {
			for style = 0; slices.Contains(taken, style); {
				style++
			}
			taken = append(taken, style)
		}
		keys[name] = plot.Key{Label: MethodTitle(method) + strings.TrimPrefix(name, method), Style: style}
	}
	return keys
}

// MethodOf returns the method with which a name in a legend begins; empty if it begins with none.
func MethodOf(name string, methods []string) string {
	method := strings.FieldsFunc(name+" ", func(r rune) bool { return r == ' ' || r == ',' })
	if len(method) > 0 && slices.Contains(methods, method[0]) {
		return method[0]
	}
	return ""
}

// stylesOf gives each method its own style, or, if the colour of this is taken and another is not, one of a free
// colour.
func stylesOf(methods []string) map[string]int {
	styles := map[string]int{}
	taken := make([]bool, len(methodTitles)+plot.Colours*len(methods)+1)
	colours := map[int]bool{}
	for _, method := range methods {
		if _, has := styles[method]; has {
			continue
		}
		if len(colours) == plot.Colours {
			clear(colours) // a second time around
		}
		own := slices.IndexFunc(methodTitles, func(m named) bool { return m.name == method })
		if own < 0 || taken[own] || colours[own%plot.Colours] {
			own = len(methodTitles)
			for taken[own] || colours[own%plot.Colours] {
				own++
			}
		}
		styles[method], taken[own], colours[own%plot.Colours] = own, true, true
	}
	return styles
}
