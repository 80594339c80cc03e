package datasets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// splitColumns are the columns of a file of a split, in any order.
var splitColumns = []string{"client", "index"}

// mostSplitClients bounds the numbers of clients in a file: one slip of the finger should not cost all memory.
const mostSplitClients = 1_000_000

// ReadSplit reads which client has which sample of a training set of so many samples, or of at most so many where the
// set is not open yet, for SplitOptions.Parts. The file is CSV:
//
//	client,index
//	0,4711
//
// client counts from 0; index is the place of a sample in the training set, from 0, in the order of the set's files. A
// sample is in one row or in none. A client has its samples in the order of the rows, and none if it is in no row; the
// last client with a sample is the last of the parts.
func ReadSplit(r io.Reader, samples int) (parts [][]int32, err error) {
	file, header, err := files.OpenCSV(r)
	want := strings.Join(splitColumns, ",")
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("empty, want the columns %s", want)
	}
	if err != nil {
		return nil, err
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
	}
	if !slices.Equal(slices.Sorted(slices.Values(header)), splitColumns) {
		return nil, fmt.Errorf("line 1: columns %.80q, want %s", header, want)
	}
	most := [2]int{mostSplitClients, samples}
	var places [2]int // of the columns
	for k, name := range splitColumns {
		places[k] = slices.Index(header, name)
	}
	var lines []int32 // by index: the line that has it, 0: none so far
	for {
		record, err := file.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := file.FieldPos(0)
		if errors.Is(err, csv.ErrFieldCount) {
			return nil, fmt.Errorf("line %d: %d columns, want %s", line, len(record), strings.Join(header, ","))
		}
		if err != nil {
			return nil, err
		}
		var of [2]int // client and index
		for k, name := range splitColumns {
			text := strings.TrimSpace(record[places[k]])
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return nil, fmt.Errorf("line %d: %s %.80q, want a whole number from 0 on", line, name, text)
			}
			if n >= uint64(most[k]) {
				return nil, fmt.Errorf("line %d: %s %.80s, want 0 … %d", line, name, text, most[k]-1)
			}
			of[k] = int(n)
		}
		client, index := of[0], of[1]
		if more := index + 1 - len(lines); more > 0 {
			lines = append(lines, make([]int32, more)...)
		}
		if before := lines[index]; before != 0 {
			return nil, fmt.Errorf("line %d: index %d again, as in line %d, want each sample at one client", line,
				index, before)
		}
		lines[index] = int32(line)
		if more := client + 1 - len(parts); more > 0 {
			parts = append(parts, make([][]int32, more)...)
		}
		parts[client] = append(parts[client], int32(index))
	}
	if parts == nil {
		return nil, errors.New("no row, want one for each sample of a client")
	}
	return parts, nil
}
