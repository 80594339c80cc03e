package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/nets"
)

// rich is a toy that answers all requests.
type rich struct{ toy }

func (*rich) Dot(a, b nets.Row) (float64, error) { return float64(at(a)[0] * at(b)[0]), nil }

func (*rich) Evaluate(_ context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	return make([]nets.EvalResult, len(jobs)), nil
}

// FuzzChild: whatever lines a child says, in whatever order, it gets an answer that is JSON, or an error in the end.
func FuzzChild(f *testing.F) {
	for _, seed := range []string{
		`{"op":"method","protocol":1,"name":"own","params":[{"name":"a_b","kind":"number","default":"1.0","low":0}],` +
			`"rates":{"lr":0.1,"server_lr":1}}`,
		`{"op":"new","name":"w","n":2,"model":true}` + "\n" +
			`{"op":"started","id":1,"arrays":[{"name":"n","kind":"floats","n":2}]}` + "\n" +
			`{"op":"train","start":0,"drift":[1,1],"lr":"NaN","steps":[1,2],"decay":0.1}` + "\n" +
			`{"op":"combine","dst":0,"c":[0.5,0.5],"src":[0,1073741824],"include":[0]}` + "\n" +
			`{"op":"load","row":1,"data":"AACAPw=="}` + "\n" + `{"op":"store","row":0}` + "\n" +
			`{"op":"norm","row":0}` + "\n" + `{"op":"dot","a":0,"b":1}` + "\n" +
			`{"op":"evaluate","rows":[0],"clients":[1]}` + "\n" +
			`{"op":"probabilities"}` + "\n" +
			`{"op":"done","id":2,"decisions":{"q":[1,2,3],"included":[true,false,true],"pi":[0,0,0],` +
			`"lambda":[1,1,1]}}` + "\n" + `{"op":"train","start":[0],"clients":[1]}` + "\n" + `{"op":"model","row":1}`,
		`{"op":"error","where":"own.py","error":"no","traceback":"x"}`,
		`{"op":"train","start":[],"clients":[]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		of := federation()
		of.Engine = &rich{}
		m := &method{Base: algos.NewBase(of), script: &Script{}, child: &child{}, params: 2}
		defer m.Base.Close()
		m.round = roundState{at: "start"}
		begin := func(n int) {
			m.ended, m.taken = m.ended+m.taken, 0
			m.round = roundState{
				Round: round(n), at: "round", ends: map[int]nets.Row{}, last: map[int]nets.Row{},
				loss: map[int]float32{},
			}
		}
		for n, line := range strings.Split(lines, "\n") {
			r, err := parse([]byte(line))
			if err != nil || r.N > 1000 || n > 50 { // more rows need the memory of the real engine
				return
			}
			switch r.Op {
			case "method":
				_, _ = r.script("own.py")
			case "started":
				err = m.declare(r.Arrays)
				begin(n)
			case "done":
				if err = m.average(); err == nil {
					err = m.decided(r.Decisions)
				}
				begin(n)
			case "model":
				_, err = m.declaredRow(r.Row)
			default:
				var answer any
				if answer, err = m.serve(t.Context(), r, []float32{8, 3}); answer != nil {
					text, bad := json.Marshal(answer)
					if bad != nil || !json.Valid(text) || bytes.Contains(text, []byte("\n")) {
						t.Fatalf("%s: answer %v, %v, want a line of JSON", line, answer, bad)
					}
				}
			}
			if err != nil {
				return
			}
		}
	})
}
