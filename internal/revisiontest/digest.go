package revisiontest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
)

// Digest is the SHA-256 of numbers and words, bit by bit, so that −0 differs from 0. The zero value is ready to use.
type Digest struct{ sum hash.Hash }

// Add adds strings, ints, numbers of a fixed size, and slices of these, also nested ones. It adds the length of each
// too, so that ("ab", "c") and ("a", "bc") differ.
func (d *Digest) Add(values ...any) {
	for _, v := range values {
		d.add(reflect.ValueOf(v))
	}
}

func (d *Digest) add(v reflect.Value) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	switch v.Kind() { // a blank ends every number, so that 1 23 and 12 3 differ
	case reflect.String:
		fmt.Fprintf(d.sum, "%d %s", v.Len(), v.String())
	case reflect.Int:
		fmt.Fprintf(d.sum, "%d ", v.Int())
	case reflect.Slice:
		fmt.Fprintf(d.sum, "%d ", v.Len())
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Int, reflect.Slice:
			for i := range v.Len() {
				d.add(v.Index(i))
			}
			return
		}
		fallthrough
	default:
		if err := binary.Write(d.sum, binary.LittleEndian, v.Interface()); err != nil {
			panic(err) // the type has no fixed size
		}
	}
}

// String returns the first 16 hex digits; "" if nothing was added.
func (d *Digest) String() string {
	if d.sum == nil {
		return ""
	}
	return hex.EncodeToString(d.sum.Sum(nil)[:8])
}
