package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func raw(header, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+data...)
}

func open(b []byte) (*File, error) { return New(bytes.NewReader(b), int64(len(b))) }

// written is the file of tensors, opened again.
func written(t *testing.T, metadata map[string]string, tensors ...Tensor) (*File, []byte) {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, Write(&b, metadata, tensors))
	f, err := open(b.Bytes())
	if err != nil {
		t.Fatalf("%v in %q", err, b.Bytes()[:min(b.Len(), 300)])
	}
	return f, b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	f32s := []float32{0, -1.5, math.MaxFloat32, float32(math.Inf(1)), math.SmallestNonzeroFloat32, 6}
	f64s := []float64{math.MaxFloat64, math.Inf(-1)}
	i64s := []int64{math.MinInt64, math.MaxInt64, -1}
	text := []byte("any\x00bytes\xff")
	metadata := map[string]string{"format": "pt", "": "", "quotes \"\\\n": "<é\u2028>"}
	f, b := written(t, metadata,
		Float64s("f64", []int{2, 1}, f64s), Int64s("i64", []int{3}, i64s), Float32s("f32", []int{2, 3}, f32s),
		Float32s("empty", []int{0, 4}, nil), Float32s("scalar", nil, f32s[1:2]),
		Bytes("naïve \"name\"", text), Bytes("none", nil))
	if !maps.Equal(f.Metadata, metadata) {
		t.Errorf("metadata: got %q, want %q", f.Metadata, metadata)
	}
	if n := binary.LittleEndian.Uint64(b); n%8 != 0 {
		t.Errorf("header of %d bytes, want a multiple of 8", n)
	}
	var got []string
	for _, info := range f.Tensors {
		got = append(got, fmt.Sprint(info.Name, " ", info.DType, " ", info.Shape, " ", info.Bytes))
	}
	want := []string{
		"f64 F64 [2 1] 16", "i64 I64 [3] 24", "f32 F32 [2 3] 24", "empty F32 [0 4] 0", "scalar F32 [] 4",
		"naïve \"name\" U8 [10] 10", "none U8 [0] 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("tensors:\ngot  %q\nwant %q", got, want)
	}
	check := func(name string, got any, err error, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	into := make([]float32, 6)
	check("f32", into, f.Float32s("f32", 0, into), f32s)
	check("f32 from 2", into[:3], f.Float32s("f32", 2, into[:3]), f32s[2:5])
	check("f32 from its end", into[:0], f.Float32s("f32", 6, nil), []float32{})
	check("empty", into[:0], f.Float32s("empty", 0, nil), []float32{})
	check("scalar", into[:1], f.Float32s("scalar", 0, into[:1]), f32s[1:2])
	f64, err := f.Float64s("f64")
	check("f64", f64, err, f64s)
	i64, err := f.Int64s("i64")
	check("i64", i64, err, i64s)
	u8, err := f.Bytes("naïve \"name\"")
	check("u8", u8, err, text)
	u8, err = f.Bytes("none")
	check("none", u8, err, []byte{})
}

// A file without tensors is one, and one of thousands of tensors longer than a piece is read from everywhere.
func TestSizes(t *testing.T) {
	if f, _ := written(t, nil); len(f.Tensors) != 0 || len(f.Metadata) != 0 {
		t.Errorf("no tensors: got %v", f)
	}
	random := rand.New(rand.NewPCG(1, 2))
	long := make([]float32, 3*pieceElements+5)
	for i := range long {
		long[i] = random.Float32()
	}
	tensors := []Tensor{Float32s("long", []int{len(long)}, long)}
	for i := range 5000 {
		tensors = append(tensors, Int64s(fmt.Sprint("t", i), []int{1}, []int64{int64(i)}))
	}
	f, _ := written(t, nil, tensors...)
	for range 20 {
		from := random.IntN(len(long))
		into := make([]float32, random.IntN(len(long)-from+1))
		if err := f.Float32s("long", from, into); err != nil || !slices.Equal(into, long[from:from+len(into)]) {
			t.Errorf("%d elements from %d on are others, %v", len(into), from, err)
		}
	}
	if x, err := f.Int64s("t4999"); err != nil || x[0] != 4999 {
		t.Errorf("the last of 5001: got %v, %v, want [4999]", x, err)
	}
}

func TestReadErrors(t *testing.T) {
	f, b := written(t, nil, Float32s("a", []int{3}, make([]float32, 3)), Bytes("b", []byte{1}))
	_, err64 := f.Float64s("a")
	_, errInt := f.Int64s("b")
	_, errBytes := f.Bytes("c")
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"type", `safetensors: tensor "a": dtype F32, want F64`, err64},
		{"type of bytes", `safetensors: tensor "b": dtype U8, want I64`, errInt},
		{"none", `safetensors: no tensor "c" among 2`, errBytes},
		{
			"too many", `safetensors: tensor "a": 4 elements from 0 on, want some of its 3`,
			f.Float32s("a", 0, make([]float32, 4)),
		},
		{"from", `safetensors: tensor "a": 1 elements from 3 on`, f.Float32s("a", 3, make([]float32, 1))},
		{"below 0", `safetensors: tensor "a": 1 elements from -1 on`, f.Float32s("a", -1, make([]float32, 1))},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, c.err, c.want)
		}
	}
	// The file became shorter after it was opened.
	short := must.Get(New(bytes.NewReader(b[:len(b)-4]), int64(len(b))))(t)
	if _, err := short.Bytes("b"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("file cut: got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func TestWriteErrors(t *testing.T) {
	failing := errors.New("disk full")
	for _, c := range []struct {
		name     string
		metadata map[string]string
		tensors  []Tensor
		want     string
		begun    bool // something may have been written
	}{
		{"empty name", nil, []Tensor{Bytes("", nil)}, `tensor "": want another name`, false},
		{"name of the metadata", nil, []Tensor{Bytes("__metadata__", nil)}, `want another name`, false},
		{"name not UTF-8", nil, []Tensor{Bytes("\xff", nil)}, `want another name`, false},
		{"metadata not UTF-8", map[string]string{"a": "\xff"}, nil, `metadata "a": "\xff", want UTF-8`, false},
		{
			"twice", nil,
			[]Tensor{Bytes("a", nil), Int64s("a", []int{0}, nil)},
			`tensor "a": twice, want every name once`, false,
		},
		{"dtype", nil, []Tensor{{"a", "F33", nil, nil}}, `tensor "a": dtype "F33", want one of the format`, false},
		{"negative", nil, []Tensor{{"a", F32, []int{2, -1}, nil}}, `"a": shape [2 -1], want dimensions ≥ 0`, false},
		{"overflow", nil, []Tensor{{"a", F32, []int{1 << 40, 1 << 20}, nil}}, `want fewer than 2^63 bits`, false},
		{
			"overflow of all", nil, slices.Repeat([]Tensor{{"", U8, []int{1 << 59}, nil}}, 17),
			`want fewer than 2^63 in all`, false,
		},
		{"long header", nil, []Tensor{Bytes(strings.Repeat("a", MaxHeader), nil)}, `want at most 1048576`, false},
		{
			"too few", nil,
			[]Tensor{Float32s("a", []int{2}, make([]float32, 1))},
			`tensor "a": 4 bytes written, want 8 for F32 [2]`, true,
		},
		{
			"too many", nil,
			[]Tensor{Float32s("a", nil, make([]float32, 2))},
			`tensor "a": 8 bytes written or more, want 4`, true,
		},
		{
			"cause", nil,
			[]Tensor{{"a", U8, nil, func(io.Writer) error { return failing }}},
			`tensor "a": disk full`, true,
		},
	} {
		if c.name == "overflow of all" {
			for i := range c.tensors {
				c.tensors[i].Name = fmt.Sprint(i)
			}
		}
		var b bytes.Buffer
		err := Write(&b, c.metadata, c.tensors)
		if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if !c.begun && b.Len() > 0 {
			t.Errorf("%s: %d bytes written, want none", c.name, b.Len())
		}
	}
}

// A file of gigabytes is written and read in the memory of a piece.
func TestStreams(t *testing.T) {
	const n = 1 << 31
	zero := make([]byte, 1<<20)
	var count counter
	err := Write(&count, nil, []Tensor{{"a", U8, []int{n}, func(w io.Writer) error {
		for range n / len(zero) {
			if _, err := w.Write(zero); err != nil {
				return err
			}
		}
		return nil
	}}})
	if want := counter(n + 8 + 72); err != nil || count != want {
		t.Errorf("got %d bytes, %v, want %d", count, err, want)
	}
	// Places alone: the 64 GiB behind the header are never there.
	header := `{"a":{"dtype":"F32","shape":[17179869184],"data_offsets":[0,68719476736]}}`
	if _, err := New(bytes.NewReader(raw(header, "")), int64(8+len(header))+1<<36); err != nil {
		t.Errorf("64 GiB: %v", err)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func TestMalformed(t *testing.T) {
	const a = `{"dtype":"U8","shape":[4],"data_offsets":[0,4]}`
	tensor := func(dtype, shape, offsets string) string {
		return `{"dtype":` + dtype + `,"shape":` + shape + `,"data_offsets":` + offsets + `}`
	}
	one := func(dtype, shape, offsets string) string { return `{"a":` + tensor(dtype, shape, offsets) + `}` }
	two := func(shapeA, offsetsA, shapeB, offsetsB string) string { // b stands first
		return `{"b":` + tensor(`"U8"`, shapeB, offsetsB) + `,"a":` + tensor(`"U8"`, shapeA, offsetsA) + `}`
	}
	for _, c := range []struct{ name, header, data, want string }{
		{"empty", ``, "", `header: does not start with {`},
		{"blank in front", ` {}`, "", `header: does not start with {`},
		{"list", `[]`, "", `header: does not start with {`},
		{"text behind", `{} x`, "", `header: does not end with }`},
		{"line feed behind", "{}\n", "", `header: does not end with }`},
		{"two objects", `{}{}`, "", `header: is not JSON`},
		{"comma at the end", `{"a":` + a + `,}`, "1234", `header: is not JSON`},
		{"cut", `{"a":{"dtype":"U8"}`, "", `header: is not JSON`},
		{"not UTF-8", "{\"\xff\":1}", "", `header: is not UTF-8`},
		{"deep", `{"a":` + strings.Repeat(`{"a":`, 50000) + strings.Repeat(`}`, 50001), "", `header: is not JSON`},
		{"tensor twice", `{"a":` + a + `,"a":` + a + `}`, "1234", `header: "a" twice, want every key once`},
		{"twice by an escape", `{"a":` + a + `,"\u0061":` + a + `}`, "1234", `header: "a" twice`},
		{"metadata twice", `{"__metadata__":{},"__metadata__":{}}`, "", `"__metadata__" twice`},
		{"key of the metadata twice", `{"__metadata__":{"k":"","k":""}}`, "", `"__metadata__": "k" twice`},
		{"number in the metadata", `{"__metadata__":{"k":1}}`, "", `"__metadata__": "k": 1, want a text`},
		{"metadata null", `{"__metadata__":null}`, "", `"__metadata__": <nil>, want an object`},
		{"empty name", `{"":` + a + `}`, "1234", `"": want another name`},
		{"tensor of another kind", `{"a":[]}`, "", `"a": [, want an object`},
		{
			"unknown key", `{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"strides":[1]}}`,
			"1234", `"a": "strides": unknown, want`,
		},
		{"key twice", `{"a":{"dtype":"U8","dtype":"U8","shape":[4]}}`, "1234", `"a": "dtype" twice`},
		{"key missing", `{"a":{"dtype":"U8","data_offsets":[0,4]}}`, "1234", `"a": no ["shape"], want`},
		{"dtype unknown", one(`"F33"`, `[1]`, `[0,4]`), "1234", `tensor "a": dtype "F33", want one of the format`},
		{"dtype in small letters", one(`"u8"`, `[4]`, `[0,4]`), "1234", `tensor "a": dtype "u8"`},
		{"dtype a number", one(`8`, `[4]`, `[0,4]`), "1234", `"a": "dtype": 8, want a text`},
		{"shape a number", one(`"U8"`, `4`, `[0,4]`), "1234", `"a": "shape": 4, want a list of whole numbers`},
		{"shape below 0", one(`"U8"`, `[-4]`, `[0,4]`), "1234", `"a": "shape": -4, want a whole number`},
		{"shape of fractions", one(`"U8"`, `[4.0]`, `[0,4]`), "1234", `"a": "shape": 4.0, want a whole number`},
		{"shape of texts", one(`"U8"`, `["4"]`, `[0,4]`), "1234", `"a": "shape": 4, want a whole number`},
		{"shape of lists", one(`"U8"`, `[[4]]`, `[0,4]`), "1234", `"a": "shape": [, want a whole number`},
		{"shape of 2^63", one(`"U8"`, `[9223372036854775808]`, `[0,4]`), "1234", `from 0 to 2^63-1`},
		{
			"overflow", one(`"F32"`, `[4294967296,4294967296]`, `[0,0]`), "",
			`tensor "a": shape [4294967296 4294967296] of F32, want fewer`,
		},
		{"half a byte", one(`"F4"`, `[7]`, `[0,4]`), "1234", `"a": shape [7] of F4 is 28 bits, want whole bytes`},
		{"one offset", one(`"U8"`, `[4]`, `[4]`), "1234", `"a": "data_offsets": 1 numbers, want 2`},
		{"offsets the other way", one(`"U8"`, `[4]`, `[4,0]`), "1234", `tensor "a": starts at byte 4, want 0`},
		{"another size", one(`"F32"`, `[4]`, `[0,4]`), "1234", `tensor "a": bytes 0 to 4, want 16 bytes for F32 [4]`},
		{"negative size", two(`[0]`, `[0,0]`, `[1]`, `[0,-1]`), "", `want a whole number`},
		{"hole in front", one(`"U8"`, `[3]`, `[1,4]`), "1234", `tensor "a": starts at byte 1, want 0`},
		{
			"hole", two(`[1]`, `[0,1]`, `[2]`, `[2,4]`), "1234",
			`tensor "b": starts at byte 2, want 1, where the tensor before it ends`,
		},
		{"overlap", two(`[3]`, `[0,3]`, `[2]`, `[2,4]`), "1234", `tensor "b": starts at byte 2, want 3`},
		{"the same bytes", `{"a":` + a + `,"b":` + a + `}`, "1234", `tensor "b": starts at byte 0, want 4`},
		{"bytes behind", `{"a":` + a + `}`, "12345", `the tensors end at byte 4, want 5, where the file ends`},
		{"bytes behind nothing", `{}`, "1", `the tensors end at byte 0, want 1`},
		{"file cut", `{"a":` + a + `}`, "123", `tensor "a": ends at byte 4, want at most 3, where the file ends`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(raw(c.header, c.data))
			if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%.300s\ngot  %v\nwant %s", c.header, err, c.want)
			}
		})
	}
}

// The length of the header is not believed before it is compared with the file.
func TestMalformedLength(t *testing.T) {
	const most = "\xff\xff\xff\xff\xff\xff\xff\xff"
	for _, c := range []struct{ name, file, want string }{
		{"no bytes", "", `0 bytes, want 8 or more`},
		{"seven bytes", "\x02\x00\x00\x00\x00\x00\x00", `7 bytes, want 8 or more`},
		{"length alone", "\x02\x00\x00\x00\x00\x00\x00\x00", `header of 2 bytes in a file of 8, want at most 0`},
		{"longest", most + "{}", `header of 18446744073709551615 bytes in a file of 10, want at most 2`},
		{
			"above MaxHeader", "\x01\x00\x10\x00\x00\x00\x00\x00" + strings.Repeat(" ", 1<<20+1),
			`header of 1048577 bytes`,
		},
	} {
		if _, err := open([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := New(strings.NewReader("\x02\x00\x00\x00\x00\x00\x00\x00{"), 10); err == nil {
		t.Error("a reader shorter than its size: got no error")
	}
}

// Types that are not read here may stand in a file, tensors in any order, and blanks within the header.
func TestUnusual(t *testing.T) {
	f := must.Get(open(raw(` {"b": {"data_offsets": [1, 3], "dtype": "BF16", "shape": []},
		"c": {"dtype": "F4", "shape": [2], "data_offsets": [3, 4]},
		"a": {"dtype": "BOOL", "shape": [1, 1], "data_offsets": [0, 1]},
		"none": {"dtype": "I64", "shape": [0, 9223372036854775807], "data_offsets": [4, 4]}}   `[1:], "1234")))(t)
	var names []string
	for _, info := range f.Tensors {
		names = append(names, info.Name)
	}
	if got, want := strings.Join(names, " "), "a b c none"; got != want {
		t.Errorf("order: got %s, want %s", got, want)
	}
	const want = `safetensors: tensor "b": dtype BF16, want F32`
	if err := f.Float32s("b", 0, make([]float32, 1)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzFile: no file makes New panic or take much memory, and what it takes is written again and read equal.
func FuzzFile(f *testing.F) {
	for _, header := range []string{
		`{}`, `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
		`{"b":{"dtype":"U8","shape":[2,1],"data_offsets":[2,4]},` +
			`"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}   `,
		`{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}}`,
	} {
		f.Add(raw(header, "1234"))
		f.Add(raw(header, ""))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := open(b)
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+100*len(b)); took > most {
			t.Errorf("%d bytes of memory for a file of %d, want at most %d", took, len(b), most)
		}
		if err != nil {
			return
		}
		var tensors []Tensor
		for _, info := range file.Tensors {
			if n := info.Bytes; n < 1<<16 { // of a type that is not read, or of any number of elements
				_ = file.Widened(info.Name, make([]float32, n*8/int64(elementBits[info.DType])))
			}
			tensors = append(tensors, Tensor{info.Name, info.DType, info.Shape, func(w io.Writer) error {
				_, err := io.Copy(w, io.NewSectionReader(file.r, file.data+info.from, info.Bytes))
				return err
			}})
		}
		var again bytes.Buffer
		if err := Write(&again, file.Metadata, tensors); err != nil {
			t.Fatalf("%q is not written again: %v", b, err)
		}
		back, err := open(again.Bytes())
		if err != nil {
			t.Fatalf("%q, written again as %q: %v", b, again.Bytes(), err)
		}
		if !maps.Equal(back.Metadata, file.Metadata) || len(back.Tensors) != len(file.Tensors) ||
			!bytes.Equal(again.Bytes()[back.data:], b[file.data:]) {
			t.Errorf("%q, written again: %q, want the same metadata, tensors and bytes", b, again.Bytes())
		}
		for _, want := range file.Tensors {
			if got, _ := back.Lookup(want.Name); got.DType != want.DType || got.from != want.from || got.to != want.to {
				t.Errorf("%q, written again: tensor %+v, want %+v", b, got, want)
			}
		}
	})
}
