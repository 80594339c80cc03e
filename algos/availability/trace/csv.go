package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"rollcall/internal/files"
)

// readCSV reads the formats that are CSV, which the header tells apart.
func readCSV(r io.Reader, o Options) (*Trace, error) {
	in, header, err := files.OpenCSV(r)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("empty, want %s", o.wanted())
	case err != nil:
		return nil, err
	}
	// pandas and R write the numbers of the rows in front, below an empty name.
	index := len(header) > 1 && header[0] == ""
	switch {
	case o.isMatrix():
		return readMatrix(in, header, o)
	case o.Format != Activity && slices.Equal(header, []string{"client", "start", "end"}):
		return readIntervals(in, 0, o)
	case o.Format != Activity && index && slices.Equal(header[1:], []string{"client", "start", "end"}):
		return readIntervals(in, 1, o)
	case o.Format != Intervals && hasColumns(header):
		return readActivity(in, header, o)
	case o.Format == "" && looksLikeMatrix(header):
		o.Format = Matrix
		return readMatrix(in, header, o)
	}
	if len(header) > 8 {
		header = append(header[:8:8], "…")
	}
	return nil, fmt.Errorf("line 1: columns %.80q, want %s", header, o.wanted())
}

// looksLikeMatrix reports whether the first row is that of a matrix: numbers, or the header that one may have.
func looksLikeMatrix(first []string) bool {
	number := func(field string) bool { _, err := files.ParseNumber(field, 64); return err == nil }
	switch {
	case number(first[0]) || len(first) < 2:
		return number(first[0])
	case first[0] == "":
		return number(first[1]) || first[1] == "V1" // R's name of the first column
	}
	return first[0] == "round" || first[0] == "client" && number(first[1])
}

// wanted says how a file of the format begins.
func (o *Options) wanted() string {
	switch o.Format {
	case Intervals:
		return "the columns client,start,end"
	case Activity:
		return "the columns round,client,active"
	case Matrix, MatrixRounds:
		return "a matrix of numbers"
	}
	return "the columns client,start,end or round,client,active, a matrix, or a trace of FedScale or FLASH"
}

// eachRow calls a function for each row up to the end of the file, and names the line in its error.
func eachRow(in *files.CSVReader, do func(line int, record []string) error) error {
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := in.FieldPos(0)
		if err := do(line, record); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
