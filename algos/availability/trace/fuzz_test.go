package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// fuzz reads files of all kinds: none makes the reader panic or take memory out of proportion to the file, and what it
// reads can be asked for rounds.
func fuzz(f *testing.F, formats []Format, seconds float64) {
	f.Fuzz(func(t *testing.T, file string, clients uint8, offset uint16) {
		for _, format := range formats {
			for _, sampled := range []bool{false, true} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := Read(strings.NewReader(file), Options{
					Format: format, Clients: int(clients % 8), Sampled: sampled,
					RoundSeconds: seconds, Offset: float64(offset),
				})
				runtime.ReadMemStats(&after)
				// Buffers take 300 kB, and a value takes at most 64 bytes, again and again as slices grow.
				if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+uint64(len(file))*1000 {
					t.Fatalf("%d bytes of memory for a file of %d", took, len(file))
				}
				if err != nil {
					if strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
						t.Errorf("error of %d bytes: %v", len(err.Error()), err)
					}
					continue
				}
				if n := len(got.IDs); n == 0 || clients%8 > 0 && !sampled && n != int(clients%8) {
					t.Fatalf("%d clients, want %d", n, clients%8)
				}
				words, p := make([]uint64, len(got.IDs)), make([]float64, len(got.IDs))
				for _, block := range []int{0, got.First / 64, got.Rounds / 64, lastRound / 64} {
					got.Block(block, words)
					got.Probabilities(block*64, p)
				}
				if got.Take([]int32{0}).Rounds != got.Rounds {
					t.Error("Take changes the length")
				}
			}
		}
	})
}

func addFiles(f *testing.F, pattern string) {
	for _, path := range must.Get(filepath.Glob(pattern))(f) {
		f.Add(string(must.Get(os.ReadFile(path))(f)), uint8(0), uint16(3))
	}
}

func FuzzPickle(f *testing.F) {
	addFiles(f, "testdata/*.pickle")
	f.Add("\x80\x02}q\x00K\x01h\x00s.", uint8(1), uint16(0))
	fuzz(f, []Format{FedScale}, 3600)
}

func FuzzNPY(f *testing.F) {
	addFiles(f, "testdata/*.npy")
	fuzz(f, []Format{Matrix, MatrixRounds}, 0)
}

func FuzzCSV(f *testing.F) {
	for _, file := range []string{
		"client,start,end\n1,0,3\n0,2,5\n1,3,4\n", "client,start,end\n0,1700000060,1700000120\n",
		"round,client,active,probability,pi,lambda\n0,0,1,0.5,0.5,0\n1,0,0,0.5,0.5,0\n", "0,1\n1,0\n",
		"0.5,1\n1,0\n", "client,0,1\na,1,0\nb,0.5,1\n", "round,a,b\n0,1,0\n1,0.5,1\n",
	} {
		f.Add(file, uint8(2), uint16(0))
	}
	fuzz(f, []Format{"", Intervals, Activity, Matrix, MatrixRounds}, 0)
}

func FuzzSeconds(f *testing.F) {
	for _, file := range []string{
		"client,start,end\n0,1700000060,1700000120\n", "client,start,end\n1,0,3.5\n0,2,5\n1,3.5,4\n",
		"client,start,end\n0,1700000060000,1700000120000\n",
	} {
		f.Add(file, uint8(2), uint16(1))
	}
	fuzz(f, []Format{"", Intervals}, 0.75)
}

func FuzzJSON(f *testing.F) {
	var messages []string
	for k, state := range []string{"screen_lock", "wifi", "battery_charged_on", "50%", "screen_unlock", "x"} {
		messages = append(messages, fmt.Sprintf(`2020-02-28 23:59:%d\t%s`, 50+k, state))
	}
	f.Add(`{"a": {"guid": "g", "model": "m", "messages": "`+strings.Join(messages, `\n`)+`"}}`, uint8(1), uint16(0))
	f.Add(`{"a": {"messages": "`+strings.Join(messages, `\n`)+`"}, "b": {"messages": ""}}`, uint8(0), uint16(7))
	fuzz(f, []Format{"", Flash}, 1)
}
