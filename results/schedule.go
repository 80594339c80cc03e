package results

// ProtocolRounds is how many last rounds an entry of FedAWE's tables is the mean over.
const ProtocolRounds = 50

// Evaluated reports whether a model is evaluated after a round, 1 … rounds: every so many rounds, and every last rounds
// among the last [ProtocolRounds] (0: no oftener there), and after the last.
func Evaluated(round, rounds, every, last int) bool {
	return round == rounds || round%every == 0 || last > 0 && round > rounds-ProtocolRounds && round%last == 0
}

// evaluatedAfter returns the first round after one, 0 … rounds − 1, that is [Evaluated].
func evaluatedAfter(round, rounds, every, last int) int {
	next := min(rounds, (round/every+1)*every)
	if last > 0 {
		next = min(next, (max(round, rounds-ProtocolRounds)/last+1)*last)
	}
	return next
}
