package files

import (
	"strconv"
	"strings"
)

// ParseNumber reads a decimal number of so many bits, NaN or an infinity, as [strconv.ParseFloat] does, and refuses the
// notations of Go's source, which that takes too: 1_0 and 0x1p-2 are slips in a file or on a command line.
func ParseNumber(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, &strconv.NumError{Func: "ParseFloat", Num: text, Err: strconv.ErrSyntax}
	}
	return strconv.ParseFloat(text, bits)
}
