package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
)

// childMode is the variable that makes this test binary the child of a test: it says how the child behaves.
const childMode = "ROLLCALL_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		misbehave(mode, os.NewFile(3, "in"), os.NewFile(4, "out"))
		return
	}
	os.Exit(m.Run())
}

// misbehave is a child that does all as it should, but for one thing. It declares the model w, row 0, and the array n.
func misbehave(mode string, from, to *os.File) {
	in := bufio.NewReader(from)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format+"\n", args...) }
	next := func() (m map[string]any) {
		line, err := in.ReadString('\n')
		if err != nil || json.Unmarshal([]byte(line), &m) != nil || m["op"] == "end" {
			os.Exit(0)
		}
		return m
	}
	protocol, hidden := 1, 0
	switch mode {
	case "dies at once":
		os.Exit(3)
	case "says nothing":
		time.Sleep(time.Hour)
	case "other protocol":
		protocol = 2
	case "no JSON":
		say("hello")
	}
	name := "own"
	if mode == "a name of ours" {
		name = "FedAWE"
	}
	say(`{"op":"method","protocol":%d,"name":%q,"sha256":"abc",`+
		`"params":[{"name":"a_b","kind":"number","default":"1.0","low":0}],`+
		`"rates":{"lr":0.1,"server_lr":1},"runtime":{"python":"3"}}`, protocol, name)
	for {
		m := next()
		switch id := m["id"]; m["op"] {
		case "start":
			say(`{"op":"new","name":"w","n":1,"model":true}`)
			next()
			if mode == "declares twice" {
				say(`{"op":"new","name":"w","n":1}`)
				if a := next(); a["error"] != nil {
					say(`{"op":"error","where":"own.py, line 7","error":%q,"traceback":"the whole"}`, a["error"])
					os.Exit(1)
				}
			}
			say(`{"op":"started","id":%v,"arrays":[{"name":"n","kind":"floats","n":2}]}`, id)
		case "round":
			hidden++
			childRound(mode, m, hidden, say, next)
			if mode != "no done" {
				say(`{"op":"done","id":%v}`, id)
			}
			if mode == "answers twice" {
				say(`{"op":"done","id":%v}`, id)
			}
		case "model":
			row := 0
			if mode == "another model" {
				row = 5
			}
			say(`{"op":"model","id":%v,"row":%d}`, id, row)
		case "save":
			n := `["NaN",-0.0]`
			if mode == "saves too little" {
				n = "[1]"
			}
			say(`{"op":"saved","id":%v,"arrays":{"n":%s}}`, id, n)
		case "restore":
			say(`{"op":"restored","id":%v}`, id)
		}
	}
}

// childRound is a round of the child: it trains, and moves w half of the way. hidden counts the rounds of the process.
func childRound(mode string, m map[string]any, hidden int, say func(string, ...any), next func() map[string]any) {
	train := func(more string) map[string]any {
		say(`{"op":"train","start":0%s}`, more)
		return next()
	}
	switch mode {
	case "dies":
		os.Exit(7)
	case "hangs":
		time.Sleep(time.Hour)
	case "100 MB":
		say(`{"op":"%s"}`, strings.Repeat("x", 100<<20))
	case "an end of an earlier round":
		if hidden == 2 {
			say(`{"op":"combine","dst":0,"c":[1],"src":[%d]}`, firstEnd)
		}
	case "a row that is none":
		say(`{"op":"combine","dst":0,"c":[1],"src":[12]}`)
	case "coefficients":
		say(`{"op":"combine","dst":0,"c":[1,2],"src":[0]}`)
	case "trains the absent":
		train(`,"clients":[2]`)
		return
	case "trains in reverse":
		train(`,"clients":[1,0]`)
		return
	case "a rate":
		train(`,"lr":"NaN"`)
		return
	case "steps":
		train(`,"steps":[1,0]`)
		return
	case "short row":
		say(`{"op":"load","row":0,"data":"AAAA"}`)
	case "declares late":
		say(`{"op":"new","name":"late","n":1}`)
		next()
		return
	case "decides for few":
		say(`{"op":"done","id":%v,"decisions":{"q":[1]}}`, m["id"])
		return
	}
	answer := train("")
	if text, failed := answer["error"].(string); failed {
		say(`{"op":"error","where":"own.py, line 9, in round","error":%q,"traceback":"the whole"}`,
			"EngineError: "+text)
		os.Exit(1)
	}
	ends, _ := answer["ends"].([]any)
	half := 0.5
	if mode == "hidden" {
		half = float64(hidden)
	}
	for _, end := range ends {
		say(`{"op":"combine","dst":0,"c":[%g,%g],"src":[0,%.0f]}`, half, half, end)
	}
}

// toy is an engine of one weight and one running statistic. A local step adds 1 to both.
type toy struct {
	nets.Engine
	trained [][]int
}

type toyBank [][2]float32

func (b toyBank) Rows() int { return len(b) }
func (b toyBank) Free()     {}

func at(r nets.Row) *[2]float32 { return &r.Bank.(toyBank)[r.Index] }

func (*toy) Info() nets.Info { return nets.Info{Params: 2, Buffers: []nets.Span{{From: 1, To: 2}}} }

func (*toy) NewBank(n int) (nets.Bank, error) { return make(toyBank, n), nil }

func combine(part int, dst nets.Row, c []float64, src []nets.Row) error {
	sum := float32(0)
	for i, r := range src {
		sum += float32(c[i]) * at(r)[part]
	}
	at(dst)[part] = sum
	return nil
}

func (*toy) Combine(dst nets.Row, c []float64, src []nets.Row) error { return combine(0, dst, c, src) }

func (*toy) CombineBuffers(dst nets.Row, c []float64, src []nets.Row) error {
	return combine(1, dst, c, src)
}

func (*toy) Load(r nets.Row, w []float32) error  { copy(at(r)[:], w); return nil }
func (*toy) Store(r nets.Row, w []float32) error { copy(w, at(r)[:]); return nil }

func (e *toy) Train(_ context.Context, w nets.LocalWork) ([]float32, error) {
	var who []int
	for _, c := range w.Clients {
		at(c.End)[0], at(c.End)[1] = at(c.Start)[0]+1, at(c.Start)[1]+1
		who = append(who, c.Client)
	}
	e.trained = append(e.trained, who)
	return make([]float32, len(who)), nil
}

func federation() algos.Federation {
	return algos.Federation{
		Engine: &toy{}, N: 3, Planner: &plan.Planner{Parts: [][]int32{{0}, {1}, {2}}, E: 1, B: 1},
		Importance: []float64{0.5, 0.25, 0.25}, Pi: []float64{1, 1, 0}, Lambda: make([]float64, 3),
	}
}

func hostOf(t *testing.T, mode string) *Host {
	t.Helper()
	self := must.Get(os.Executable())(t)
	return &Host{Command: []string{self}, Env: append(os.Environ(), childMode+"="+mode)}
}

func startOf(t *testing.T, mode string) (m algos.Method, err error) {
	t.Helper()
	h := hostOf(t, mode)
	timeout := 20 * time.Second
	if mode == "hangs" || mode == "no done" {
		timeout = time.Second
	}
	script, err := h.Describe(t.Context(), "own.py", os.Stderr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	o := algos.Options{Preset: algos.Code, Process: algos.Process{Output: os.Stderr, Timeout: timeout}}
	d := h.Definition(script)
	m, err = d.New(federation(), []float32{8, 3}, o)
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

// round returns a round of the clients 0 and 1.
func round(t int) algos.Round {
	return algos.Round{T: t, Active: []int{0, 1}, P: []float64{1, 1, 0}, LR: 0.1, ServerLR: 1}
}

// A child that behaves moves the model, whose running statistics are the clients' mean; its state is its own.
func TestChild(t *testing.T) {
	m := must.Get(startOf(t, "well"))(t)
	for r := range 3 {
		loss := must.Get(m.Round(t.Context(), round(r)))(t)
		if len(loss) != 2 {
			t.Errorf("round %d: losses %v, want two", r, loss)
		}
		if saved := must.Get(m.Save(t.Context()))(t); r == 1 {
			if x := saved[len(saved)-1].Float64s; !math.IsNaN(x[0]) || !math.Signbit(x[1]) {
				t.Errorf("saved n %v, want NaN and −0", x)
			}
		}
	}
	// w = 8: ends 9 and 9; w/2 + 9/2 = 8.5, and then 8.5/2 + 9/2 = 8.75. Each round adds 3/4 of a step.
	if got := *at(must.Get(m.Model())(t)); got != [2]float32{8 + 3*0.75, 3 + 3} {
		t.Errorf("model %v, want 10.25 with the statistic 6", got)
	}
}

// A child that does not behave ends the run with an error that says what it did; nothing hangs.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{"dies at once", "the method's process has ended: exit status 3"},
		{"other protocol", "protocol 2, want 1"},
		{"no JSON", `line "hello": invalid character`},
		{"a name of ours", `name "FedAWE" is taken`},
		{"declares twice", `own.py, line 7: new: name "w", want one that no other rows have`},
		{"dies", "the method's process has ended: exit status 7"},
		{"hangs", "no answer within 1s of the method's own time"},
		{"no done", "no answer within 1s"},
		{"100 MB", "a line of more than 67108880 bytes"},
		{"an end of an earlier round", "EngineError: combine: row 1073741824: of an earlier round"},
		{"a row that is none", "EngineError: combine: row 12: no such row"},
		{"coefficients", "combine: 2 coefficients and 1 rows, want as many"},
		{"trains the absent", "train: client 2: not active in this round"},
		{"trains in reverse", "train: client 0 after 1, want ascending"},
		{"a rate", "train: learning rate NaN, want a positive number"},
		{"steps", "train: client 1: 0 steps, want 1"},
		{"short row", "load: 3 bytes, want 4: 1 float32"},
		{"declares late", "new: rows are declared in start alone"},
		{"decides for few", "decisions of 1, 0, 0 and 0 clients, want 3 each"},
		{"answers twice", `"done" with id 2, want a request or the answer to message 3`},
		{"another model", "want a row that start has declared"},
		{"saves too little", "saved: n: 1 floats, want 2"},
		{"hidden", "hidden state: restored from a checkpoint, round 1 goes another way: request 2 is"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			m, err := startOf(t, c.mode)
			for r := 0; r < 3 && err == nil; r++ {
				if _, err = m.Round(t.Context(), round(r)); err == nil {
					_, err = m.Model()
				}
				if err == nil {
					_, err = m.Save(t.Context())
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if script, thrown := errors.AsType[*ScriptError](err); thrown && script.Traceback != "the whole" {
				t.Errorf("traceback %q, want the child's", script.Traceback)
			}
		})
	}
}

// A child that computes is left at once when the run is interrupted, and does not outlive the method.
func TestCancelled(t *testing.T) {
	m := must.Get(startOf(t, "says nothing after the start"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Round(ctx, round(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	began := time.Now()
	m.Close()
	// A child that listens ends at once; endWait is for one that does not.
	if took := time.Since(began); took > endWait {
		t.Errorf("closed in %s, want below %s", took, endWait)
	}
	hangs := must.Get(startOf(t, "hangs"))(t).(*method)
	if _, err := hangs.Round(t.Context(), round(0)); err == nil {
		t.Error("no error, want that it is late")
	}
	hangs.Close()
	if hangs.child.cmd.ProcessState == nil {
		t.Error("a child that hangs still runs after Close, want it killed")
	}
}

// A state that was saved is restored, and the method resumes as it would have continued.
func TestRestore(t *testing.T) {
	one := must.Get(startOf(t, "well"))(t)
	must.Get(one.Round(t.Context(), round(0)))(t)
	saved := must.Get(one.Save(t.Context()))(t)
	other := must.Get(startOf(t, "well"))(t)
	must.OK(t, other.Restore(source(saved)))
	for _, m := range []algos.Method{one, other} {
		must.Get(m.Round(t.Context(), round(1)))(t)
		if got := *at(must.Get(m.Model())(t)); got != [2]float32{9.5, 5} {
			t.Errorf("model %v, want 9.5 with the statistic 5", got)
		}
	}
}

type source []algos.Array

func (s source) find(name string) algos.Array {
	for _, a := range s {
		if a.Name == name {
			return a
		}
	}
	return algos.Array{}
}

func (s source) Rows(name string, into []nets.Row) error {
	for i, r := range s.find(name).Rows {
		*at(into[i]) = *at(r)
	}
	return nil
}

func (s source) Float64s(name string) ([]float64, error) { return s.find(name).Float64s, nil }
func (s source) Int64s(name string) ([]int64, error)     { return s.find(name).Int64s, nil }

// A rehearsal asks the child for one round with clients, and counts the rest without it.
func TestRehearsal(t *testing.T) {
	h := hostOf(t, "well")
	script := must.Get(h.Describe(t.Context(), "own.py", os.Stderr, 20*time.Second))(t)
	f := federation()
	d := h.Definition(script)
	m := must.Get(d.New(f, []float32{0, 0}, algos.Options{Process: algos.Process{Rehearsal: true}}))(t)
	defer m.Close()
	for r, active := range [][]int{{}, {0}, {0, 1, 2}} {
		next := round(r)
		next.Active = active
		must.Get(m.Round(t.Context(), next))(t)
	}
	if got := fmt.Sprint(f.Engine.(*toy).trained); got != "[[0] [0 1 2]]" {
		t.Errorf("trained %s, want client 0 and then all", got)
	}
}

func TestNumber(t *testing.T) {
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, 0.1, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 60,
	} {
		text := must.Get(json.Marshal(Number(x)))(t)
		var back Number
		must.OK(t, json.Unmarshal(text, &back))
		if math.Float64bits(float64(back)) != math.Float64bits(x) && !math.IsNaN(x) {
			t.Errorf("%g: %s, and %g back", x, text, float64(back))
		}
	}
	var x Number
	if err := json.Unmarshal([]byte(`"infinity"`), &x); err == nil {
		t.Error(`"infinity": no error, want one`)
	}
}
