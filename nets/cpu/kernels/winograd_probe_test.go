package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func cpuTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

func TestProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
	runtime.LockOSThread()
	n := 7
	if f := os.Getenv("PROBE"); f != "1" {
		n = 25
	}
	reps := 1
	for _, s := range []Conv2DShape{
		{B: 64, H: 34, W: 34, C: 64, O: 64}, {B: 64, H: 18, W: 18, C: 128, O: 128}, {B: 64, H: 10, W: 10, C: 256, O: 256},
		{B: 64, H: 6, W: 6, C: 512, O: 512}, {B: 64, H: 10, W: 10, C: 64, O: 64}, {B: 64, H: 9, W: 9, C: 64, O: 64}, {B: 64, H: 7, W: 7, C: 64, O: 64}, {B: 64, H: 5, W: 5, C: 256, O: 256},
	} {
		if f := os.Getenv("PROBE"); f != "1" && f != fmt.Sprint(s.C, "x", s.H-2) {
			continue
		}
		s.K, s.R, s.S, s.Stride, s.Border, s.Pad = 1, 3, 3, 1, 1, 1
		reps = 1
		if s.C == 64 && s.H < 20 {
			reps = 10
		}
		r := rand.New(rand.NewPCG(1, 1))
		x, w, gy := fractions(r, s.B*s.xLen()), fractions(r, s.wLen()), fractions(r, s.B*s.yLen())
		for i := range x {
			if row, col := i/s.C/s.W%s.H, i/s.C%s.W; min(row, col, s.H-1-row, s.W-1-col) == 0 {
				x[i] = 0
			}
		}
		var y, dx, dw [2][]float32
		for i := range 2 {
			y[i], dx[i], dw[i] = make([]float32, len(gy)), make([]float32, len(x)), make([]float32, len(w))
		}
		for _, k := range Variants()[1:] {
			e := NewExec(k, nil)
			for _, what := range []string{"forward", "dx", "dw"} {
				var run [2]func()
				for i := range 2 {
					switch what {
					case "forward":
						f := &Conv2DForward[float32]{Conv2DShape: s, y: y[i], x: x, w: w}
						run[i] = func() { f.direct(e) }
						if i == 1 {
							run[i] = func() { f.inTiles(e) }
						}
					case "dx":
						f := &Conv2DInput[float32]{Conv2DShape: s, dx: dx[i], gy: gy, w: w}
						run[i] = func() { f.direct(e) }
						if i == 1 {
							run[i] = func() { f.inTiles(e) }
						}
					case "dw":
						f := &Conv2DWeights[float32]{Conv2DShape: s, dw: dw[i], gy: gy, x: x}
						run[i] = func() { f.direct(e) }
						if i == 1 {
							run[i] = func() { f.inTiles(e) }
						}
					}
				}
				var times [2][]time.Duration
				for range n {
					for i := range 2 {
						if i == 0 && os.Getenv("ONLY") != "" {
							times[i] = append(times[i], 1)
							continue
						}
						a := cpuTime()
						for range reps {
							run[i]()
						}
						times[i] = append(times[i], (cpuTime()-a)/time.Duration(reps))
					}
				}
				diff, top := 0.0, 0.0
				of := map[string]*[2][]float32{"forward": &y, "dx": &dx, "dw": &dw}[what]
				for i, v := range of[0] {
					diff = max(diff, math.Abs(float64(v-of[1][i])))
					top = max(top, math.Abs(float64(v)))
				}
				var med [2]float64
				for i := range 2 {
					slices.Sort(times[i])
					med[i] = times[i][n/2].Seconds()
				}
				flop := 2 * float64(s.B*s.yLen()*9*s.C) / 1e9
				fmt.Printf("%-7s %dx%d→%d %-8s direct %6.1f ms %5.1f GF/s, winograd %6.1f ms %5.1f GF/s, ratio %.2f, diff %.1e\n",
					k.Name(), s.C, s.H-2, s.O, what, med[0]*1e3, flop/med[0], med[1]*1e3, flop/med[1], med[0]/med[1], diff/top)
			}
		}
	}
}
