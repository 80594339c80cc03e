package results

const (
	fedarPaper = "C. Jiang, H. Zhou, X. Zhang, S. Chakraborty: FedAR: Addressing Client Unavailability in Federated Learning with Local " +
		"Update Approximation and Rectification, ECML PKDD 2024"

	fedar2ID     = "fedar-2"
	fedar2Source = "Table 2 of " + fedarPaper + "; p-values by rounds; only those are here whose exponents are certain, the paper calls all of them below 0.001"
)

// fedar2 returns the p-values of FedAR's Table 2, which pairs the test accuracies of the rounds. 0 is what is printed.
func fedar2() []Printed {
	at := func(data, params, method string, p float64) Printed {
		return Printed{Table: fedar2ID, Method: method, Data: data, Availability: "uniform", Params: params, Metric: PRounds, Mean: Some(p), N: 1}
	}
	return []Printed{
		at("cifar10", "p-min=0.5", "fedvarp", 0),
		at("cifar10", "p-min=0.5", "mifa", 0),
		at("cifar10", "p-min=0.5", "scaffold", 1.38e-246),
		at("cifar10", "p-min=0.5", "fedavg-s", 3.46e-316),
		at("svhn", "", "fedvarp", 0.00029),
	}
}
