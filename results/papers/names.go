package papers

import "strings"

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
	{"fedar", "FedAR"},
	{"fedavg-is", "FedAvg-IS"},
	{"fedavg-s", "FedAvg-S"},
	{"mifa-wait", "MIFA (waiting)"},
	{"scaffold", "SCAFFOLD"},
}

var dataTitles = map[string]string{
	"cifar10": "CIFAR-10", "svhn": "SVHN", "cinic10": "CINIC-10", "mnist": "MNIST", "leaf": "LEAF synthetic",
	"binary": "two classes", "synthetic": "generated images",
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

// Titled returns a label that begins with a method's name, "fedau lr=0.1", with the name in print: "FedAU lr=0.1".
func Titled(label string) string {
	method, rest, more := strings.Cut(label, " ")
	if more {
		rest = " " + rest
	}
	return MethodTitle(method) + rest
}
