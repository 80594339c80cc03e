package results

// ProtocolRounds is the number of last rounds over which FedAWE's tables average.
const ProtocolRounds = 50

// Evaluated reports whether the model is evaluated after a round, 1 … rounds. It is evaluated after each multiple of
// every and after the final round; among the final [ProtocolRounds] also after each multiple of last, unless last is 0.
func Evaluated(round, rounds, every, last int) bool {
	return round == rounds || round%every == 0 || last > 0 && round > rounds-ProtocolRounds && round%last == 0
}

// evaluatedAfter returns the first [Evaluated] round after the given one, which is 0 … rounds − 1.
func evaluatedAfter(round, rounds, every, last int) int {
	next := min(rounds, (round/every+1)*every)
	if last > 0 {
		next = min(next, (max(round, rounds-ProtocolRounds)/last+1)*last)
	}
	return next
}
