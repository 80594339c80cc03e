package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// The names of the parts of a file.
const (
	aboutKey       = "rollcall" // the key of [About] in the metadata
	curveName      = "curve.csv"
	decisionsName  = "decisions"
	statePrefix    = "state/" // begins the names of the method's arrays
	sumName        = "sha256" // the checksum of everything before it
	decisionFields = 8        // numbers per decision, see numbers
)

// Content is everything that a run needs to resume.
type Content struct {
	About
	Curve     []results.CurveRow
	Decisions []results.DecisionRow
	State     []algos.Array // their rows are in the memory of an engine
}

// Write writes a checkpoint, whole or not at all. When ctx ends it stops and leaves no file. See [files.WriteFile] for
// before.
func Write(ctx context.Context, path string, c *Content, engine nets.Engine, before ...files.Before) error {
	c.Schema = Schema
	about, err := json.Marshal(c.About)
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	var curve strings.Builder
	if err := files.WriteCSV(&curve, c.Curve); err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	tensors := []safetensors.Tensor{
		safetensors.Bytes(curveName, []byte(curve.String())),
		safetensors.Float64s(decisionsName, []int{len(c.Decisions), decisionFields}, numbers(c.Decisions)),
	}
	for _, a := range c.State {
		tensors = append(tensors, tensorOf(ctx, a, engine, c.Params))
	}
	return files.WriteFile(path, func(w io.Writer) error {
		sum := sha256.New()
		last := safetensors.Tensor{
			Name: sumName, DType: safetensors.U8, Shape: []int{sha256.Size},
			Write: func(w io.Writer) error {
				_, err := w.Write(sum.Sum(nil))
				return err
			},
		}
		return safetensors.Write(io.MultiWriter(w, sum), map[string]string{aboutKey: string(about)},
			append(tensors, last))
	}, before...)
}

// tensorOf returns an array of a method's state as a tensor. It reads rows from the engine only while the tensor is
// written, so that a large state is never in memory twice.
func tensorOf(ctx context.Context, a algos.Array, engine nets.Engine, params int) safetensors.Tensor {
	name := statePrefix + a.Name
	switch {
	case a.Float64s != nil:
		return safetensors.Float64s(name, []int{len(a.Float64s)}, a.Float64s)
	case a.Int64s != nil:
		return safetensors.Int64s(name, []int{len(a.Int64s)}, a.Int64s)
	}
	return safetensors.Tensor{
		Name: name, DType: safetensors.F32, Shape: []int{len(a.Rows), params},
		Write: func(w io.Writer) error {
			row, text := make([]float32, params), make([]byte, 0, 4*params)
			for _, r := range a.Rows {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := engine.Store(r, row); err != nil {
					return err
				}
				text, _ = binary.Append(text[:0], binary.LittleEndian, row) // it never fails for numbers
				if _, err := w.Write(text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// numbers returns the fields of decisions as numbers, one decision after the other [n, decisionFields].
func numbers(rows []results.DecisionRow) []float64 {
	x := make([]float64, 0, decisionFields*len(rows))
	for _, r := range rows {
		x = append(x, float64(r.Round), float64(r.Client), float64(r.Active), float64(r.Included),
			r.Weight, r.Pi, r.Lambda, r.Target)
	}
	return x
}

// decisions returns decisions from their numbers, the inverse of numbers.
func decisions(x []float64) []results.DecisionRow {
	rows := make([]results.DecisionRow, len(x)/decisionFields)
	for i := range rows {
		r := x[decisionFields*i:]
		rows[i] = results.DecisionRow{
			Round: int(r[0]), Client: int(r[1]), Active: int(r[2]), Included: int(r[3]),
			Weight: r[4], Pi: r[5], Lambda: r[6], Target: r[7],
		}
	}
	return rows
}
