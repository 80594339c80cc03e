package trace

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// check compares a trace with what is known of each device and round, and then that of some of its devices.
func check(t *testing.T, got *Trace, n, rounds int, active func(i, r int) bool, p func(i, r int) float64) {
	t.Helper()
	checkOne(t, got, n, rounds, active, p)
	if t.Failed() || n == 0 {
		return
	}
	index := make([]int32, n/2+1)
	for k := range index {
		index[k] = int32(k * 7919 % n)
	}
	of := func(k int) int { return int(index[k]) }
	taken := got.Take(index)
	for k := range index {
		if taken.IDs[k] != got.IDs[of(k)] {
			t.Errorf("Take %v: ids %q of %q", index, taken.IDs, got.IDs)
		}
	}
	if p == nil {
		checkOne(t, taken, len(index), rounds, func(k, r int) bool { return active(of(k), r) }, nil)
	} else {
		checkOne(t, taken, len(index), rounds, func(k, r int) bool { return active(of(k), r) },
			func(k, r int) float64 { return p(of(k), r) })
	}
}

func checkOne(t *testing.T, got *Trace, n, rounds int, active func(i, r int) bool, p func(i, r int) float64) {
	t.Helper()
	if got.Rounds != rounds || len(got.IDs) != n {
		t.Fatalf("%d rounds of %d devices, want %d of %d", got.Rounds, len(got.IDs), rounds, n)
	}
	seen := rounds + 130 // beyond the end
	if rounds == 0 {
		seen = 1000
	}
	first := rounds
	if rounds == 0 {
		first = Never
	}
	words, chance := make([]uint64, n), make([]float64, n)
	for r := range seen {
		if r%64 == 0 {
			got.Block(r/64, words)
		}
		has := got.Probabilities(r, chance)
		if has != (p != nil) {
			t.Fatalf("probabilities: %t", has)
		}
		for i := range n {
			want := (rounds == 0 || r < rounds) && active(i, r)
			if is := words[i]>>(r%64)&1 == 1; is != want {
				t.Fatalf("device %d, round %d: active %t, want %t", i, r, is, want)
			}
			wantChance := 0.0
			if has && r < rounds {
				wantChance = p(i, r)
			}
			if has && chance[i] != wantChance {
				t.Fatalf("device %d, round %d: probability %g, want %g", i, r, chance[i], wantChance)
			}
			if want || wantChance > 0 {
				first = min(first, r)
			}
		}
	}
	if got.First != first && (rounds > 0 || first != Never || got.First < seen) {
		t.Errorf("first round %d, want %d", got.First, first)
	}
}

// The old reader's tests: what they read must not change.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		name, file string
		seconds    float64
		want       string // who is active, round by round
	}{
		{"rounds", "client,start,end\n1,0,3\n0,2,5\n1,3,4\n", 0, "[1] [1] [0 1] [0 1] [0]"},
		{"seconds", "client, start, end\r\n0,59.5,120\r\n2,60,121\r\n", 60, "[] [0 2] [2]"},
		{"byte order mark", "\ufeffclient,start,end\r\n0,0,2\r\n", 0, "[0] [0]"},
		{"byte order mark and quotes", "\ufeff\"client\",start,end\n0,0,2\n", 0, "[0] [0]"},
		{"between two rounds", "client,start,end\n0,10,50\n1,0,60\n", 60, "[1]"},
		{"empty rows", "client,start,end\r\n0,0,2\r\n,,\r\n\r\n , ,\r\n", 0, "[0] [0]"},
		{"names", "client,start,end\nb,0,1\n\"a, c\",1,2\n0,0,2\n", 0, "[0 2] [1 2]"},
		{"Unix, s", "client,start,end\n0,1700000060,1700000120\n1,1700000000,1700000060\n", 60, "[1] [0]"},
		{"Unix, ms", "client,start,end\n0,1700000060000,1700000120000\n1,1700000000000,1700000060000\n", 60, "[1] [0]"},
		{
			"Unix, µs", "client,start,end\n0,1700000060000000,1700000120000000\n1,1700000000000000,1700000060000000\n",
			60, "[1] [0]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(Read(strings.NewReader(c.file), Options{Clients: 3, RoundSeconds: c.seconds}))
			var rounds []string
			words := make([]uint64, 3)
			trace := got(t)
			trace.Block(0, words)
			for r := range trace.Rounds {
				var who []int
				for i, word := range words {
					if word>>r&1 == 1 {
						who = append(who, i)
					}
				}
				rounds = append(rounds, fmt.Sprint(who))
			}
			if got := strings.Join(rounds, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// random returns the sources of random traces.
func random(t *testing.T, do func(t *testing.T, r *rand.Rand)) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { do(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// Times are quarters, so that those of rounds are exact, and quotients are whole where they should be.
func TestIntervalsRandom(t *testing.T) {
	random(t, func(t *testing.T, r *rand.Rand) {
		n := 1 + r.IntN(9)
		seconds := []float64{0, 1, 0.5, 2.5, 7, 13}[r.IntN(6)]
		offset := float64(r.IntN(3)*r.IntN(40)) / 4
		perRound := seconds
		if seconds == 0 {
			perRound = 1
		}
		type interval struct{ start, end float64 }
		of := make([][]interval, n)
		var rows []string
		for i := range n {
			x := 0.0
			for range r.IntN(12) {
				x += float64(r.IntN(3)*r.IntN(100)) / 4
				v := interval{x, x + float64(1+r.IntN(200))/4}
				x = v.end
				of[i] = append(of[i], v)
				rows = append(rows, fmt.Sprintf("%d,%g,%g\n", i, v.start, v.end))
			}
		}
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		active := func(i, round int) bool {
			at := offset + float64(round)*perRound
			return slices.ContainsFunc(of[i], func(v interval) bool { return v.start <= at && at < v.end })
		}
		rounds := 0 // up to the end of the last interval that holds a round
		for i := range n {
			for _, v := range of[i] {
				for k := 0; offset+float64(k)*perRound < v.end; k++ {
					if offset+float64(k)*perRound >= v.start {
						rounds = max(rounds, k+1)
					}
				}
			}
		}
		got, err := Read(strings.NewReader("client,start,end\n"+strings.Join(rows, "")),
			Options{Clients: n, RoundSeconds: seconds, Offset: offset})
		if rounds == 0 {
			if err == nil || !strings.Contains(err.Error(), "none holds a round") {
				t.Errorf("got %v, want an error", err)
			}
			return
		}
		check(t, must.Get(got, err)(t), n, rounds, active, nil)
	})
}

func TestActivityRandom(t *testing.T) {
	random(t, func(t *testing.T, r *rand.Rand) {
		n, length, offset := 1+r.IntN(7), 1+r.IntN(200), 0
		if r.IntN(2) == 0 {
			offset = r.IntN(length)
		}
		type state struct {
			active bool
			p      float64
		}
		known := map[[2]int]state{}
		withP := r.IntN(2) == 0
		var rows []string
		for round := range length {
			for i := range n {
				if r.IntN(3) == 0 && round < length-1 {
					continue
				}
				s := state{r.IntN(2) == 0, float64(1+r.IntN(9)) / 10}
				if !s.active && r.IntN(3) == 0 {
					s.p = 0
				}
				known[[2]int{i, round}] = s
				row := fmt.Sprintf("%d,%d,x,%d", i, round, map[bool]int{true: 1}[s.active])
				if withP {
					row += fmt.Sprintf(",%g,%g,%g", s.p, float64(i)/10, -float64(i)/10)
				}
				rows = append(rows, row+"\n")
			}
		}
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		header := "client,round,other,active"
		p := func(i, round int) float64 { return known[[2]int{i, round + offset}].p }
		if withP {
			header += ",probability,pi,lambda"
		} else {
			p = nil
		}
		got := must.Get(Read(strings.NewReader(header+"\n"+strings.Join(rows, "")),
			Options{Clients: n, Offset: float64(offset)}))(t)
		check(t, got, n, length-offset, func(i, round int) bool { return known[[2]int{i, round + offset}].active }, p)
		for i := range n {
			if withP && (got.Pi[i] != float64(i)/10 || got.Lambda[i] != -float64(i)/10) {
				t.Errorf("client %d: π %g and λ %g, want %d tenths and its negative", i, got.Pi[i], got.Lambda[i], i)
			}
		}
	})
}

func TestMatrixRandom(t *testing.T) {
	random(t, func(t *testing.T, r *rand.Rand) {
		n, length, offset := 1+r.IntN(7), 1+r.IntN(200), 0
		if r.IntN(2) == 0 {
			offset = r.IntN(length)
		}
		drawn := r.IntN(2) == 0
		cell := make([][]float64, n)
		for i := range cell {
			for range length {
				x := float64(r.IntN(2))
				if drawn && r.IntN(2) == 0 {
					x = r.Float64()
				}
				cell[i] = append(cell[i], x)
			}
		}
		if drawn {
			cell[n-1][length-1] = 0.5
		}
		o := Options{Clients: n, Offset: float64(offset), Format: Matrix}
		header, perRound := r.IntN(2) == 0, r.IntN(2) == 0
		if n == 1 || length == n {
			o.Format = Matrix
		}
		var b strings.Builder
		rows, columns, corner := n, length, "client"
		if perRound {
			o.Format, rows, columns, corner = MatrixRounds, length, n, "round"
		}
		if header {
			b.WriteString(corner)
			for k := range columns {
				fmt.Fprintf(&b, ",%d", k)
			}
			b.WriteString("\n")
			o.Format = ""
		}
		for row := range rows {
			if header {
				fmt.Fprintf(&b, "%d,", row)
			}
			for column := range columns {
				x := cell[min(row, n-1)][min(column, length-1)]
				if perRound {
					x = cell[column][row]
				}
				if column > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, "%v", x)
			}
			b.WriteString("\n")
		}
		got := must.Get(Read(strings.NewReader(b.String()), o))(t)
		if got.Drawn != drawn {
			t.Fatalf("drawn %t, want %t", got.Drawn, drawn)
		}
		at := func(i, round int) float64 { return cell[i][round+offset] }
		if drawn {
			check(t, got, n, length-offset, func(int, int) bool { return false }, at)
		} else {
			check(t, got, n, length-offset, func(i, round int) bool { return at(i, round) == 1 }, nil)
		}
	})
}

// Times of the file and of rounds are thousandths of a second.
func TestFedScaleRandom(t *testing.T) {
	random(t, func(t *testing.T, r *rand.Rand) {
		n := 1 + r.IntN(6)
		step, offset := 1+r.IntN(20_000), r.IntN(2)*r.IntN(100_000)
		devices := make([]fedscaleDevice, n)
		for i := range devices {
			d := &devices[i]
			d.finish = 1 + r.IntN(100_000)
			for range r.IntN(8) { // in any order, some contained in others, some reversed, some beyond the end
				a := r.IntN(d.finish + 10)
				d.active, d.inactive = append(d.active, a), append(d.inactive, a+r.IntN(d.finish/4+2)-r.IntN(2))
			}
		}
		got := must.Get(Read(strings.NewReader(pickled(devices, 1000)),
			Options{Clients: n, RoundSeconds: float64(step) / 1000, Offset: float64(offset) / 1000}))(t)
		check(t, got, n, 0, func(i, round int) bool {
			x := (offset + round*step) % devices[i].finish
			for k, a := range devices[i].active {
				if a <= x && x <= devices[i].inactive[k] {
					return true
				}
			}
			return false
		}, nil)
	})
}

func TestFlashRandom(t *testing.T) {
	states := []string{
		"battery_charged_on", "battery_charged_on", "battery_charged_off", "wifi", "WIFI", "4g", "unknown",
		"screen_lock", "screen_lock", "screen_unlock", "screen_on", "screen_off", "87.5%", "phone_off",
	}
	random(t, func(t *testing.T, r *rand.Rand) {
		var devices [][]message
		var ids []string
		var b strings.Builder
		b.WriteString("{")
		for i := range 6 {
			var list []message
			at, begin := r.IntN(500), ""
			for range 2 + r.IntN(60) {
				state := states[r.IntN(len(states))]
				list = append(list, message{at, state})
				begin += fmt.Sprintf("2020-03-28 %02d:%02d:%02d\\t%s\\n", at/3600, at/60%60, at%60, state)
				at += r.IntN(3) * r.IntN(40)
			}
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, `"d%d": {"guid": "g", "model": "m", "messages": "%s"}`, i, begin)
			ready := false
			for k := range list {
				ready = ready || readyAt(list, list[k].at)
			}
			if ready && list[len(list)-1].at > list[0].at {
				devices, ids = append(devices, list), append(ids, fmt.Sprintf("d%d", i))
			}
		}
		b.WriteString("}")
		step, offset := float64(1+r.IntN(2000))/8, float64(r.IntN(2)*r.IntN(4000))/8
		got, err := Read(strings.NewReader(b.String()), Options{RoundSeconds: step, Offset: offset})
		if len(devices) == 0 {
			if err == nil {
				t.Error("no error, want one: no device is ever ready")
			}
			return
		}
		zero := devices[0][0].at
		for _, list := range devices {
			zero = min(zero, list[0].at)
		}
		check(t, must.Get(got, err)(t), len(devices), 0, func(i, round int) bool {
			list := devices[i]
			first, last := list[0].at, list[len(list)-1].at
			eighths := int(8*(offset+float64(round)*step)) + 8*(zero-first) // from the device's first message on
			for eighths < 0 {
				eighths += 8 * (last - first)
			}
			return readyAt(list, first+eighths/8%(last-first))
		}, nil)
		if !slices.Equal(got.IDs, ids) {
			t.Errorf("ids %q, want %q", got.IDs, ids)
		}
	})
}

// message is a message of a device of FLASH, at a second of a day.
type message struct {
	at    int
	state string
}

// readyAt reports whether a device is ready at a second: between a message after which it is locked, charged and on
// WiFi and the next one, both included, if a later message ends that.
func readyAt(list []message, second int) bool {
	after := make([]bool, len(list)) // each message
	last := -1                       // the last one after which it is not ready
	on := map[string]bool{}
	for k, m := range list {
		switch state := strings.ToLower(m.state); state {
		case "battery_charged_on", "battery_charged_off":
			on["charged"] = strings.HasSuffix(state, "on")
		case "wifi", "4g", "unknown":
			on["wifi"] = state == "wifi"
		case "screen_lock", "screen_unlock":
			on["locked"] = state == "screen_lock"
		}
		if after[k] = on["charged"] && on["wifi"] && on["locked"]; !after[k] {
			last = k
		}
	}
	for k := range max(last, 0) {
		if after[k] && list[k].at <= second && second <= list[k+1].at {
			return true
		}
	}
	return false
}

// The files of testdata are those that testdata/make.py writes: here, and with the Python of this machine.
func TestPython(t *testing.T) {
	t.Run("testdata", func(t *testing.T) { checkPython(t, "testdata", true) })
	t.Run("python3", func(t *testing.T) {
		python := os.Getenv("ROLLCALL_PYTHON")
		if python == "" {
			var err error
			if python, err = exec.LookPath("python3"); err != nil {
				t.Skip("no python3 on this machine")
			}
		}
		dir := t.TempDir()
		if out, err := exec.Command(python, "testdata/make.py", dir).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", python, err, out)
		}
		npy := must.Get(filepath.Glob(filepath.Join(dir, "*.npy")))(t)
		checkPython(t, dir, len(npy) > 0)
	})
}

func checkPython(t *testing.T, dir string, npy bool) {
	read := func(t *testing.T, path string, o Options) *Trace {
		t.Helper()
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		return must.Get(Read(f, o))(t)
	}
	glob := func(pattern string, want int) []string {
		t.Helper()
		paths := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		if len(paths) < want {
			t.Errorf("%d files %s, want %d", len(paths), pattern, want)
		}
		return paths
	}
	for _, path := range glob("*.pickle", 5) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := read(t, path, Options{RoundSeconds: 0.5})
			if want := []string{"1", "2", `Gerät \ 'drei' €`, "70000"}; !slices.Equal(got.IDs, want) {
				t.Errorf("ids %q, want %q", got.IDs, want)
			}
			check(t, got, 4, 0, func(i, r int) bool {
				switch i {
				case 1: // [0, 60.5] and [254.25, 255] of 256 s
					r %= 512
					return r <= 121 || 509 <= r && r <= 510
				case 3:
					return r >= 2
				}
				return false // device 0 from second 12,788 on
			}, nil)
			words := make([]uint64, 4)
			for _, end := range []int{65881, 133574, 208292} {
				later := read(t, path, Options{RoundSeconds: 0.5, Offset: float64(end + 518400)})
				if later.Block(0, words); words[0] != 1 {
					t.Errorf("device 1 from second %d: rounds %b, want the first alone", end, words[0])
				}
			}
		})
	}
	if !npy {
		t.Log("without NumPy: no .npy files")
		return
	}
	active := [][]float64{{0, 1, 1}, {1, 0, 0}}
	for _, path := range glob("active-*.npy", 18) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			check(t, read(t, path, Options{Clients: 2}), 2, 3, func(i, r int) bool { return active[i][r] == 1 }, nil)
			check(t, read(t, path, Options{Clients: 3, Format: MatrixRounds}), 3, 2,
				func(i, r int) bool { return active[r][i] == 1 }, nil)
		})
	}
	chance := [][]float64{{0, 0.25, 1}, {0.5, 1. / (1 << 20), 0.75}} // all are numbers of 16 bits
	none := func(int, int) bool { return false }
	for _, path := range glob("chance-*.npy", 3) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			check(t, read(t, path, Options{}), 2, 3, none, func(i, r int) float64 { return chance[i][r] })
			check(t, read(t, path, Options{Format: MatrixRounds}), 3, 2, none,
				func(i, r int) float64 { return chance[r][i] })
		})
	}
}

// Texts of protocol 0, whose escapes are Python's.
func TestPickleTexts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`S'it\'s "a" \\ \x41\n'`, "it's \"a\" \\ A\n"},
		{`S"it's"`, "it's"},
		{"Vna\xefve \\u20ac \\u005cn \\U0001f600 \\x41", "naïve € \\n 😀 \\x41"},
	} {
		p, v, err := readPickle(strings.NewReader(c.text + "\n."))
		if err != nil || v.kind != kindText || p.texts[v.n] != c.want {
			t.Errorf("%q: got %v %q, %v, want %q", c.text, v, p.texts, err, c.want)
		}
	}
}

// Integers and floats of all opcodes, with both signs.
func TestPickleNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{
		{"I-5\n", -5},
		{"L12345678901L\n", 12345678901},
		{"F-0.5\n", -0.5},
		{"K\xff", 255},
		{"M\x01\x02", 513},
		{"J\xfe\xff\xff\xff", -2},
		{"\x8a\x00", 0},
		{"\x8a\x01\xff", -1},
		{"\x8a\x03\x00\x00\x80", -1 << 23},
		{"\x8a\x05\x00\x00\x00\x00\x01", 1 << 32},
		{"\x8b\x02\x00\x00\x00\x00\x7f", 0x7f00},
		{"G\xc0\x04\x00\x00\x00\x00\x00\x00", -2.5},
	} {
		_, v, err := readPickle(strings.NewReader(c.text + "."))
		if got, ok := v.number(); err != nil || !ok || got != c.want {
			t.Errorf("%q: got %v, %v, want %g", c.text, got, err, c.want)
		}
	}
}

// A hostile pickle ends at a bound, however long it is.
func TestPickleBounds(t *testing.T) {
	for _, c := range []struct{ begin, again, want string }{
		{"", "N", "more than 262144 values on the stack, want fewer"},
		{"", "]", "more than 262144 values on the stack, want fewer"},
		{"", "(", "more than 1024 containers in each other, want fewer"},
		{"]", "Na", "a list of more than 4194304 values, want fewer"},
		{"]", "(" + strings.Repeat("N", 10_000) + "la", errMany.Error()},
		{"]", "]a", errMany.Error()},
		{"}", "K\x01}q\x00s", errMany.Error()},
		{"]", "\x8c\x00a", "a list of more than 4194304 values, want fewer"},
	} {
		debug.FreeOSMemory()
		before := heap()
		_, _, err := readPickle(io.MultiReader(strings.NewReader(c.begin), &again{text: c.again}))
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%.20q again and again: %v, want %s", c.again, err, c.want)
		}
		took := heap() - before
		if t.Logf("%.20q: %.0f MB", c.again, float64(took)/1e6); took > 1<<30 { // it is 600 MB at most
			t.Errorf("%.20q again and again: %d bytes of memory", c.again, took)
		}
	}
}

// again is a text without an end.
type again struct {
	text string
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	for k := range p {
		p[k] = a.text[a.at]
		a.at = (a.at + 1) % len(a.text)
	}
	return len(p), nil
}

// What pandas, R and spreadsheets make of the same table is the same trace.
func TestTablesOfOthers(t *testing.T) {
	want := []uint64{0b0101, 0b0110}
	for name, file := range map[string]string{
		"matrix":                 "1,0,1,0\n0,1,1,0\n",
		"pandas":                 ",0,1,2,3\n0,1,0,1,0\n1,0,1,1,0\n",
		"pandas, true and false": ",0,1,2,3\n0,True,False,True,False\n1,False,True,True,False\n",
		"R":                      "\"\",\"V1\",\"V2\",\"V3\",\"V4\"\n\"1\",1,0,1,0\n\"2\",0,1,1,0\n",
		"spreadsheet":            "\ufeffclient,0,1,2,3\r\na,1,0,1,0\r\nb,0,1,1,0\r\n",
		"intervals of pandas":    ",client,start,end\n0,0,0,1\n1,0,2,3\n2,1,1,3\n",
		"activity":               "client,round,active\n0,0,1.0\n0,1,FALSE\n0,2,true\n1,1,1\n1,2,1\n1,0,0\n",
	} {
		got, err := Read(strings.NewReader(file), Options{Clients: 2})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		words := make([]uint64, 2)
		if got.Block(0, words); !slices.Equal(words, want) {
			t.Errorf("%s: rounds %04b, want %04b", name, words, want)
		}
	}
}

// A time that is on the grid of the rounds in the file is on it here, whatever float64 makes of their ratio.
func TestTimesOnTheGrid(t *testing.T) {
	for _, perRound := range []float64{0.1, 0.3, 0.7, 7.3, 13.37, 0.01} {
		var file strings.Builder
		file.WriteString("client,start,end\n")
		for k := range 1000 {
			fmt.Fprintf(&file, "c%d,%.10g,%.10g\n", k, float64(k)*perRound, float64(k+3)*perRound)
		}
		got := must.Get(Read(strings.NewReader(file.String()), Options{RoundSeconds: perRound}))(t)
		words := make([]uint64, 1000)
		for block := range 17 {
			got.Block(block, words)
			for k, word := range words {
				for r := range 64 {
					round := 64*block + r
					if there := word>>r&1 == 1; there != (round >= k && round < k+3) {
						t.Fatalf("rounds of %g s: client %d: round %d: %t", perRound, k, round, there)
					}
				}
			}
		}
	}
}
