//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/predict"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// predictVariable names what TestPredict predicts: net, precision and active clients, as in
// "cnn-cifar10 tf32 5 37 100".
const predictVariable = "ROLLCALL_PREDICT"

// predictCardVariable names the cards to predict for, as in "A100 H100"; all if it is empty.
const predictCardVariable = "ROLLCALL_PREDICT_CARD"

// TestPredict prints how long every launch of a local step takes on the first card, and a step on each card, by the
// model of package predict. `make predict` runs it. The emulator trains one client for one step. The interpreter then
// runs some blocks of each launch on the memory as the step has left it.
func TestPredict(t *testing.T) {
	words := strings.Fields(os.Getenv(predictVariable))
	if len(words) == 0 {
		t.Skip("left out: make predict sets " + predictVariable)
	}
	var counts []int // of clients
	for _, word := range words[min(2, len(words)):] {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			t.Fatalf("%s: %q clients, want 1 or more", predictVariable, word)
		}
		counts = append(counts, n)
	}
	if len(counts) == 0 {
		t.Fatalf("%s: %q, want a net, a precision and numbers of clients", predictVariable, words)
	}
	cards := predictedCards(t)
	if gputest.Real() || gputest.LeftOut != "" {
		t.Skip("left out: the step to count runs on the emulator. " + gputest.LeftOut)
	}
	assemblers, err := sass.Assemblers(t.Context())
	if errors.Is(err, sass.ErrUnavailable) {
		t.Skip("left out: ", err)
	}
	must.OK(t, err)
	precision, batch := Precision(words[1]), 128
	if strings.HasPrefix(words[0], "resnet") {
		batch = 64
	}
	r := timing{steps: 1, evalBatch: 1, training: 256}.rig(t, workload{net: words[0], batch: batch}, precision, 1, true)
	newest := assemblers[len(assemblers)-1]
	program := r.launches[1:] // the first one fills the weights, once a round
	for n, card := range cards {
		memory := memoryOf(r.e)
		for i := range memory { // which the launches change
			memory[i].Bytes = slices.Clone(memory[i].Bytes)
		}
		launches := make([]predict.Launch, len(program))
		for _, clients := range counts {
			f := r.w.frames[0]
			f.capacity = clients
			for i, l := range program {
				if launches[i].Blocks != l.geometry(clients).X { // else it is counted already
					launches[i] = counted(t, newest, card, l, &f, memory)
				}
			}
			table := ""
			if n == 0 {
				table = predictionTable(words[0], precision, card, r.w.program, launches, clients)
			}
			t.Log(table + predictedStep(card, r.w.program, launches, clients))
		}
	}
}

// predictedCards returns the cards that predictCardVariable names.
func predictedCards(t *testing.T) (cards []predict.Card) {
	t.Helper()
	var known []string
	for _, c := range predict.Cards {
		known = append(known, c.Name)
	}
	names := strings.Fields(os.Getenv(predictCardVariable))
	if len(names) == 0 {
		names = known
	}
	for _, name := range names {
		at := slices.Index(known, strings.ToUpper(name))
		if at < 0 {
			t.Fatalf("%s: no constants of card %q, want some of %q", predictCardVariable, name, known)
		}
		cards = append(cards, predict.Cards[at])
	}
	return cards
}

// counted runs some blocks of a launch, cut for the capacity of a frame, and returns what the model needs to know.
func counted(
	t *testing.T, a *sass.Assembler, card predict.Card, l launch, f *frame, memory ptx.Memory,
) predict.Launch {
	t.Helper()
	module, ok := kernels.Find(l.kernel)
	if !ok {
		t.Fatalf("kernel %s: in no module", l.kernel)
	}
	machine := must.Get(a.Assemble(t.Context(), card.Target, module.Name, module.PTX))(t)
	at := slices.IndexFunc(machine, func(k *sass.Kernel) bool { return k.Name == l.kernel })
	if at < 0 {
		t.Fatalf("kernel %s: not in the machine code of %s", l.kernel, module.Name)
	}
	g := l.geometry(f.capacity)
	p := predict.Launch{
		Blocks: g.X, Threads: g.Threads, Shared: g.Shared,
		Bytes: float64(l.cost(f).Bytes), PTX: must.Get(ptx.Parse(module.PTX))(t).Kernel(l.kernel), Code: machine[at],
	}
	run := ptx.Launch{
		Grid: [2]int{p.Blocks, 1}, Threads: p.Threads, Shared: p.Shared, Args: l.args(f), Blocks: someBlocks(p.Blocks),
		Traffic: true, L1: card.Cached(p),
	}
	p.Counted = must.Get(p.PTX.Run(run, memory))(t)
	return p
}

// someBlocks returns blocks that stand for n of them: the first, the last, and some between.
func someBlocks(n int) (blocks [][2]int) {
	const most = 6
	for i := range min(n, most) {
		blocks = append(blocks, [2]int{i * (n - 1) / max(min(n, most)-1, 1), 0})
	}
	return blocks
}

// memoryOf returns the memory of an engine: its arena, its banks and its samples.
func memoryOf(e *Engine) (m ptx.Memory) {
	m = append(samplesMemory(e), pieceAt(uint64(e.arena), int(e.arenaBytes))...)
	for b := range e.banks {
		m = append(m, pieceAt(uint64(b.base), b.rows*int(e.rowBytes()))...)
	}
	m.Sort()
	return m
}

// predictionTable returns the times of all launches, in µs per client-step: of each alone, and their sum.
func predictionTable(
	net string, p Precision, card predict.Card, program *program, launches []predict.Launch, clients int,
) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s, %s %s, %d clients, µs per client-step\t", card.Name, net, p, clients)
	fmt.Fprint(table, "layer\ttotal\ttensor\tissue\tshared\tL2\tmemory\tlatency\tlimit\tblocks\twaves\t\n")
	var sum predict.Times
	line := func(kernel, layer string, t predict.Times) {
		us := func(seconds float64) float64 { return seconds * 1e6 / float64(clients) }
		fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%d\t%.2f\t\n",
			kernel, layer, us(t.Total), us(t.Tensor), us(t.Issue), us(t.Shared), us(t.L2), us(t.Memory), us(t.Latency),
			t.Limit, t.PerMultiprocessor, t.Waves)
	}
	for i, l := range launches {
		t := card.Predict(l, clients)
		line(program.launches[i].kernel, program.launches[i].layer, t)
		sum.Total, sum.Tensor, sum.Issue = sum.Total+t.Total, sum.Tensor+t.Tensor, sum.Issue+t.Issue
		sum.Shared, sum.L2, sum.Memory = sum.Shared+t.Shared, sum.L2+t.L2, sum.Memory+t.Memory
		sum.Latency += t.Latency
	}
	line("sum", "", sum)
	_ = table.Flush() // into memory
	return "\n" + text.String()
}

// predictedStep returns how long a step takes, in µs per client-step: all launches one after the other, and from the
// end of a step to the end of the next if launches that do not wait for each other run at once.
func predictedStep(card predict.Card, program *program, launches []predict.Launch, clients int) string {
	sum := 0.0
	for _, l := range launches {
		sum += card.Predict(l, clients).Total
	}
	n, key := len(launches), waveKey{programKey: programKey{train: true}, capacity: capacityFor(clients)}
	w := &wave{frames: make([]frame, key.groups())}
	var steps []predict.Work
	for g := range w.frames {
		for i, after := range program.order.waits {
			waits := make([]int, len(after))
			for k, launch := range after {
				waits[k] = 2*n*g + launch
			}
			steps = append(steps, card.Work(launches[i%n], w.clients(g, clients), waits))
		}
	}
	var first, second float64 // when the first step has ended, and the one behind it
	for i, end := range card.Ends(steps) {
		if i/n%2 == 0 {
			first = max(first, end)
		} else {
			second = max(second, end)
		}
	}
	us := 1e6 / float64(clients)
	return fmt.Sprintf("%s, %d clients: a step %.2f with launches at once, %.2f one by one; %d of %d launches wait "+
		"for each other in turn", card.Name, clients, (second-first)*us, sum*us,
		program.order.depth(2*n)-program.order.depth(n), n)
}
