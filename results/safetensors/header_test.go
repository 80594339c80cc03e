package safetensors

import (
	"bytes"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/must"
)

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
		{"seven bytes", "1234567", `7 bytes, want 8 or more`},
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
