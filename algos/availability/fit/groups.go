package fit

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"rollcall/algos/availability"
)

// Groups are clients who come and go together: at least half of their changes are at the same rounds, as of clients
// that share one chain. Only clients with ten changes or more are compared, and of many a sample.
type Groups struct {
	Compared int     // clients compared; 0: too few change, or the record is too short
	Largest  float64 // the largest correlation of the changes of two clients
	Chance   float64 // the correlation of two clients which one is above in 5 % of records of independent clients
	Above    int     // pairs above Chance
	Groups   []Group // of two clients and more, the largest first

	clients []int // [Compared] ascending
}

// Group is a group of clients.
type Group struct {
	Chain            // of what more than half of its clients are in each round
	Clients  []int   // ascending
	Together float64 // mean correlation of the changes of its pairs
}

const (
	link       = 0.5 // correlation of the changes of two clients of a group
	shifts     = 19
	mostCopies = 2.5e7 // pairs of clients times words of their rows, each compared 1 + shifts times
)

// groupsOf finds groups. The change of a client in round t is d_t = x_t − x_(t−1), of its states x. The correlation of
// the changes of two clients is Σ d d' / √(Σ d² Σ d'²): changes remember less than states do, so that two slow clients
// are not taken for one. Independent clients are made by moving the second of each pair along the record, around its
// end, by a tenth of the record to nine tenths, drawn once for all pairs. This keeps what is particular to a client (E.
// S. Edgington, P. Onghena: Randomization Tests, 2007). The largest correlation in all 19 moved records is above the
// largest of the record in 19 of 20 records of independent clients.
// Two clients above both that and 1/2 are in one group.
func groupsOf(r *rand.Rand, record availability.Record, clients []Client) (g Groups) {
	if record.Rounds < FewestRounds {
		return g
	}
	for i := range clients {
		if clients[i].Changes >= fewestTested {
			g.clients = append(g.clients, i)
		}
	}
	words := len(record.Rows[0])
	if most := max(50, int(math.Sqrt(2*mostCopies/float64(words)))); len(g.clients) > most {
		sample := make([]int, most)
		for k, at := range r.Perm(len(g.clients))[:most] {
			sample[k] = g.clients[at]
		}
		slices.Sort(sample)
		g.clients = sample
	}
	if g.Compared = len(g.clients); g.Compared < 2 {
		g.Compared = 0
		return g
	}
	rows := make([][]uint64, g.Compared)
	for k, i := range g.clients {
		rows[k] = record.Rows[i]
	}
	moved := make([][]uint64, len(rows))
	for range shifts {
		by := record.Rounds/10 + r.IntN(record.Rounds*8/10)
		for k, row := range rows {
			moved[k] = rotate(row, record.Rounds, by)
		}
		eachPair(rows, moved, record.Rounds, func(_, _ int, c float64) { g.Chance = max(g.Chance, c) })
	}
	// The groups are the components of the graph of linked clients: of is a forest.
	of := make([]int, len(rows))
	for k := range of {
		of[k] = k
	}
	root := func(k int) int {
		for of[k] != k {
			of[k] = of[of[k]]
			k = of[k]
		}
		return k
	}
	g.Largest = math.Inf(-1)
	eachPair(rows, rows, record.Rounds, func(a, b int, c float64) {
		g.Largest = max(g.Largest, c)
		if c > g.Chance {
			g.Above++
			if c >= link {
				of[root(max(a, b))] = root(min(a, b))
			}
		}
	})
	members := map[int][]int{}
	for k := range of {
		members[root(k)] = append(members[root(k)], k)
	}
	for k := range of {
		of := members[k]
		if len(of) < 2 {
			continue
		}
		var group Group
		theirs := make([][]uint64, len(of))
		for m, at := range of {
			i := g.clients[at]
			group.Clients = append(group.Clients, i)
			theirs[m] = rows[at]
		}
		most := count(majority(theirs, record.Rounds), record.Rounds)
		group.Chain = chainOf(&most)
		pairs := 0.0
		eachPair(theirs, theirs, record.Rounds, func(_, _ int, c float64) { group.Together += c; pairs++ })
		group.Together /= pairs
		g.Groups = append(g.Groups, group)
	}
	slices.SortStableFunc(g.Groups, func(a, b Group) int { return len(b.Clients) - len(a.Clients) })
	return g
}

// Alone returns how many of the clients compared are in no group.
func (g *Groups) Alone() int {
	alone := g.Compared
	for _, of := range g.Groups {
		alone -= len(of.Clients)
	}
	return alone
}

// oneOfEach returns the rows of clients with ten changes or more: of each group one, and all others compared; if none
// are, of all.
func (g *Groups) oneOfEach(record availability.Record, clients []Client) (rows [][]uint64) {
	if record.Rounds < FewestRounds {
		return nil
	}
	if g.Compared == 0 {
		for i := range clients {
			if clients[i].Changes >= fewestTested {
				rows = append(rows, record.Rows[i])
			}
		}
		return rows
	}
	again := map[int]bool{}
	for _, of := range g.Groups {
		for _, i := range of.Clients[1:] {
			again[i] = true
		}
	}
	for _, i := range g.clients {
		if !again[i] {
			rows = append(rows, record.Rows[i])
		}
	}
	return rows
}

// eachPair calls f with the correlation of the changes of row a of first and row b of second for each a < b. All rows
// change.
func eachPair(first, second [][]uint64, rounds int, f func(a, b int, c float64)) {
	p, before := changesOf(first, rounds)
	q, after := changesOf(second, rounds)
	for a, x := range first {
		p := p[a][:len(x)]
		for b := a + 1; b < len(second); b++ {
			y, q := second[b][:len(x)], q[b][:len(x)]
			same, against := 0, 0
			for w := range x {
				both := p[w] & q[w]
				same += bits.OnesCount64(both)
				against += bits.OnesCount64(both & (x[w] ^ y[w]))
			}
			f(a, b, float64(same-2*against)/math.Sqrt(before[a]*after[b]))
		}
	}
}

// changesOf returns, for each row, a row whose bit t is set if round t−1 differs from round t, and how many are.
func changesOf(rows [][]uint64, rounds int) (changed [][]uint64, n []float64) {
	changed, n = make([][]uint64, len(rows)), make([]float64, len(rows))
	for k, row := range rows {
		changed[k] = make([]uint64, len(row))
		before := row[0] & 1 // round 0 is no change
		for w, here := range row {
			changed[k][w] = (here ^ (here<<1 | before)) & mask(rounds-64*w)
			n[k] += float64(bits.OnesCount64(changed[k][w]))
			before = here >> 63
		}
	}
	return changed, n
}

// majority returns the row of what more than half of the rows are in each round.
func majority(rows [][]uint64, rounds int) []uint64 {
	most := make([]uint64, len(rows[0]))
	for t := range rounds {
		active := 0
		for _, row := range rows {
			active += int(row[t/64] >> (t % 64) & 1)
		}
		if 2*active > len(rows) {
			most[t/64] |= 1 << (t % 64)
		}
	}
	return most
}

// rotate returns the row whose round t is round t+by of the given one, modulo the rounds.
func rotate(row []uint64, rounds, by int) []uint64 {
	moved := make([]uint64, len(row))
	for w, word := range row {
		for ; word != 0; word &= word - 1 {
			t := (64*w + bits.TrailingZeros64(word) - by + rounds) % rounds
			moved[t/64] |= 1 << (t % 64)
		}
	}
	return moved
}
