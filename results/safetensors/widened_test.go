package safetensors

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// of returns a tensor of any type, whose elements are given as they are written.
func of[T any](name string, d DType, x ...T) Tensor {
	return Tensor{name, d, []int{len(x)}, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, x) }}
}

// All numbers of 16 bits are the float32 with their sign, exponent and significand.
func TestWidened16(t *testing.T) {
	var bits []uint16
	for b := range 1 << 16 {
		bits = append(bits, uint16(b))
	}
	file, _ := written(t, nil, of("half", F16, bits...), of("brain", BF16, bits...))
	for name, width := range map[string]int{"half": 10, "brain": 7} { // of the significand
		x := make([]float32, len(bits))
		must.OK(t, file.Widened(name, x))
		most, bias := 1<<(15-width)-1, 1<<(14-width)-1
		for i, got := range x {
			exponent, significand := i>>width&most, i&(1<<width-1)
			want := math.Ldexp(float64(significand), 1-bias-width)
			switch {
			case exponent == most && significand == 0:
				want = math.Inf(1)
			case exponent == most:
				want = math.NaN()
			case exponent > 0:
				want = math.Ldexp(float64(1<<width+significand), exponent-bias-width)
			}
			want = math.Copysign(want, float64(1-2*(i>>15)))
			same := float64(got) == want || math.IsNaN(float64(got)) && math.IsNaN(want)
			if !same || math.Signbit(float64(got)) != math.Signbit(want) {
				t.Fatalf("%s %#04x: got %g, want %g", name, i, got, want)
			}
		}
	}
}

func TestWidened64(t *testing.T) {
	exact := []float64{
		0, math.Copysign(0, -1), 1, -0.5, math.MaxFloat32, math.SmallestNonzeroFloat32, math.Inf(-1), math.NaN(),
		1 << 24,
	}
	many := make([]float64, 3*pieceElements)
	many[2*pieceElements+5], many[2*pieceElements+7] = 0.1, 0.2
	file, _ := written(t, nil, of("exact", F64, exact...), of("many", F64, many...),
		of("large", F64, 1.0, 1e39), of("small", F64, 1e-46), of("odd", F64, 1.0*(1<<24+1)),
		of("f8", "F8_E4M3", byte(1)),
		of("whole", I64, int64(1)), of("complex", "C64", complex64(1)), of("true", "BOOL", true))
	x := make([]float32, len(exact))
	must.OK(t, file.Widened("exact", x))
	for i, want := range exact {
		if math.Float64bits(float64(x[i])) != math.Float64bits(want) && !math.IsNaN(want) {
			t.Errorf("element %d: got %g, want %g", i, x[i], want)
		}
	}
	for name, want := range map[string]string{
		"many":    `tensor "many": element 16389 is 0.1, want a value that float32 holds exactly`,
		"large":   `tensor "large": element 1 is 1e+39, want`,
		"small":   `tensor "small": element 0 is 1e-46, want`,
		"odd":     `tensor "odd": element 0 is 1.6777217e+07, want`,
		"f8":      `tensor "f8": dtype F8_E4M3, want F32, F16, BF16 or F64`,
		"whole":   `tensor "whole": dtype I64, want F32, F16, BF16 or F64`,
		"complex": `tensor "complex": dtype C64, want`,
		"true":    `tensor "true": dtype BOOL, want`,
		"none":    `no tensor "none" among 9`,
	} {
		info, _ := file.Lookup(name)
		err := file.Widened(name, make([]float32, slices.Max(append(info.Shape, 0))))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if err := file.Widened("exact", make([]float32, 3)); err == nil {
		t.Error("3 of 9 elements: got no error")
	}
}

func TestOtherKinds(t *testing.T) {
	long := strings.Repeat("\x00", 600)
	zip := func(name string) string {
		return "PK\x03\x04" + strings.Repeat("\x00", 22) + string(rune(len(name))) + "\x00\x00\x00" + name + long
	}
	for _, c := range []struct{ name, file, want string }{
		{"PyTorch", zip("archive/data.pkl"), "a zip file, as .pt and .pth files of PyTorch are"},
		{"cut zip", "PK\x03\x04" + long, "a zip file, as .pt"},
		{"empty zip", "PK\x05\x06" + long, "an empty zip file"},
		{"NumPy of several", zip("fc.weight.npy"), "a zip file, an .npz of NumPy"},
		{"Keras", zip("metadata.json"), "a zip file, a .keras file of Keras"},
		{"HDF5", "\x89HDF\r\n\x1a\n" + long, "HDF5"},
		{"HDF5 behind a block of the user's", long[:512] + "\x89HDF\r\n\x1a\n" + long, "HDF5"},
		{"NumPy", "\x93NUMPY\x01\x00v\x00{'descr'" + long, "an .npy file of NumPy"},
		{"old PyTorch", "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + long, "a pickle, as .pt and .pth files of old"},
		{"pickle", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}" + long, "a pickle"},
		{"pickle of protocol 0", "(dp0\nVa\np1\n" + long, "a pickle"},
		{"gzip", "\x1f\x8b\x08\x00" + long, "compressed by gzip"},
		{"tar", strings.Repeat("n", 257) + "ustar\x0000" + long, "a tar archive"},
		{"Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "a pointer of Git LFS"},
		{"HTML", "\n<!DOCTYPE html>\n<html>", "an HTML page"},
		{"index of shards", `{"metadata": {"total_size": 9}, "weight_map": {}}`, "JSON"},
		{"text", "round,test_acc\n1,0.5\n", "a text"},
		{"short text", "no", "a text"},
		{"text with a cut letter", strings.Repeat("a", lookAt-1) + "é", "a text"},
		{"zeros", long, "zeros"},
	} {
		_, err := New(strings.NewReader(c.file), int64(len(c.file)))
		if err == nil || !strings.HasPrefix(err.Error(), "safetensors: "+c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	// What begins as safetensors does is named by its own faults, whatever length its header has.
	for _, length := range []uint64{0x0280, 0x8b1f, 0x0480, 0x4b50} {
		b := append(binary.LittleEndian.AppendUint64(nil, length), `{"a":`...)
		_, err := New(bytes.NewReader(b), int64(len(b)))
		if err == nil || !strings.Contains(err.Error(), "header of ") {
			t.Errorf("cut after a length of %d: got %v, want the header's size", length, err)
		}
	}
}
