package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// fedscaleDevice is a device of FedScale's trace, with times in parts of a second.
type fedscaleDevice struct {
	active, inactive []int
	finish           int
}

// pickled returns devices as Python's pickle writes them in protocol 2. Times are divided by parts.
func pickled(devices []fedscaleDevice, parts int) string {
	b := []byte{0x80, 2, '}', 'q', 0}
	memo := uint32(1)
	put := func() {
		if b, memo = append(b, 'r'), memo+1; memo <= 256 {
			b[len(b)-1] = 'q'
			b = append(b, byte(memo-1))
			return
		}
		b = binary.LittleEndian.AppendUint32(b, memo-1)
	}
	whole := func(x int) {
		switch {
		case x >= 0 && x < 1<<8:
			b = append(b, 'K', byte(x))
		case x >= 0 && x < 1<<16:
			b = binary.LittleEndian.AppendUint16(append(b, 'M'), uint16(x))
		default:
			b = binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(int32(x)))
		}
	}
	number := func(x int) {
		if x%parts == 0 && x >= 0 {
			whole(x / parts)
			return
		}
		b = binary.BigEndian.AppendUint64(append(b, 'G'), math.Float64bits(float64(x)/float64(parts)))
	}
	text := func(s string) { b = append(binary.LittleEndian.AppendUint32(append(b, 'X'), uint32(len(s))), s...) }
	keys := map[string]uint32{}
	key := func(s string) {
		if at, known := keys[s]; known {
			b = append(b, 'h', byte(at))
			return
		}
		text(s)
		keys[s] = memo
		put()
	}
	list := func(x []int) {
		b = append(b, ']')
		put()
		b = append(b, '(')
		for _, v := range x {
			number(v)
		}
		b = append(b, 'e')
	}
	for batch := 0; batch < len(devices); batch += 1000 {
		b = append(b, '(')
		for i := batch; i < min(batch+1000, len(devices)); i++ {
			whole(i + 1)
			b = append(b, '}')
			put()
			b = append(b, '(')
			key("duration")
			number(devices[i].finish / 2)
			key("inactive")
			list(devices[i].inactive)
			key("finish_time")
			number(devices[i].finish)
			key("active")
			list(devices[i].active)
			key("model")
			text("CPH1801")
			put()
			b = append(b, 'u')
		}
		b = append(b, 'u')
	}
	return string(append(b, '.'))
}

// published returns as many devices as FedScale's trace has, with the size of the latter's 25.6 MB: some 20 intervals
// in 6 days each.
func published(n, intervals int) []fedscaleDevice {
	r := rand.New(rand.NewPCG(1, 1))
	devices := make([]fedscaleDevice, n)
	for i := range devices {
		d := &devices[i]
		d.finish = 518400
		x, each := 0, 2*518400/(2*intervals+1)
		for range intervals {
			a := x + r.IntN(each/2)
			x = a + 1 + r.IntN(each/2)
			d.active, d.inactive = append(d.active, a), append(d.inactive, x)
		}
	}
	return devices
}

// perBlock measures a block of 64 rounds of a minute.
func perBlock(b *testing.B, t *Trace) {
	words, block := make([]uint64, len(t.IDs)), 0
	for b.Loop() {
		t.Block(block, words)
		block = (block + 1) % 100
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/round")
}

func BenchmarkFedScaleBlock(b *testing.B) {
	file := pickled(published(100_000, 25), 1)
	for _, seconds := range []float64{60, 600, 3600, 86400} {
		t := must.Get(Read(strings.NewReader(file), Options{RoundSeconds: seconds}))(b)
		b.Run(fmt.Sprintf("round=%gs", seconds), func(b *testing.B) { perBlock(b, t) })
	}
}

func intervalsFile(devices []fedscaleDevice) []byte {
	var f bytes.Buffer
	f.WriteString("client,start,end\n")
	for i, d := range devices {
		for k := range d.active {
			fmt.Fprintf(&f, "%d,%d,%d\n", i, d.active[k], d.inactive[k])
		}
	}
	return f.Bytes()
}

func BenchmarkIntervalsBlock(b *testing.B) {
	t := must.Get(Read(bytes.NewReader(intervalsFile(published(100_000, 25))), Options{RoundSeconds: 60}))(b)
	perBlock(b, t)
}

// heap returns the memory of the heap that the system has given, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}

// benchmarkRead measures the reading of a file, and by how much the heap grows.
func benchmarkRead(b *testing.B, file []byte, o Options) {
	b.SetBytes(int64(len(file)))
	debug.FreeOSMemory()
	before := heap()
	for b.Loop() {
		must.Get(Read(bytes.NewReader(file), o))(b)
	}
	b.ReportMetric(float64(heap()-before)/1e6, "MB-heap") // the heap gives memory back slowly
}

func BenchmarkReadFedScale(b *testing.B) {
	benchmarkRead(b, []byte(pickled(published(107_749, 23), 1)), Options{RoundSeconds: 60})
}

func BenchmarkReadIntervals(b *testing.B) {
	benchmarkRead(b, intervalsFile(published(180_000, 20)), Options{RoundSeconds: 60, Clients: 180_000})
}
