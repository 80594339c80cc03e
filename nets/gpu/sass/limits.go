package sass

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// Key names a row of the table of limits: a kernel, or one of its named loops, on a target.
type Key struct{ Kernel, Loop, Target string }

// Row holds what is counted of a kernel or of a loop, by column. The columns of a kernel are registers, shared,
// instructions, outside and stores; those of a loop are products, instructions, moves and shared_reads. The numbers of
// a loop are those of one turn.
type Row map[string]int

// columns are the columns of the table behind kernel, loop and target.
var columns = []string{"registers", "shared", "outside", "stores", "products", "instructions", "moves", "shared_reads"}

// Table is the largest that any assembler makes of each kernel and loop.
type Table map[Key]Row

// Add enters a kernel: a row of its own, and one for each named loop. It is an error if the kernel spills registers or
// uses local memory, or if a named loop is not found.
func (t Table) Add(target string, k *Kernel) error {
	local := count(k.Code, func(i Instruction) bool { return i.Is("LDL", "STL") })
	if k.Stack+k.SpillStores+k.SpillLoads+local > 0 {
		return fmt.Errorf("sass: %s, %s: local memory: a stack of %d bytes, spills: %d bytes stored, %d bytes loaded",
			k.Name, target, k.Stack, k.SpillStores, k.SpillLoads)
	}
	loops, err := k.loops()
	if err != nil {
		return fmt.Errorf("%w, %s", err, target)
	}
	outside := len(k.Code)
	for _, l := range loops {
		outside -= len(l.code)
		t.raise(Key{k.Name, l.name, target}, Row{
			"products": l.products, "instructions": len(l.code), "moves": count(l.code, Instruction.isMove),
			"shared_reads": count(l.code, func(i Instruction) bool { return i.Is("LDS", "LDSM") }),
		})
	}
	t.raise(Key{k.Name, "", target}, Row{
		"registers": k.Registers, "shared": k.Shared, "instructions": len(k.Code), "outside": outside,
		"stores": count(k.Code, func(i Instruction) bool { return i.Is("STG", "ST") }),
	})
	return nil
}

// raise raises a row to at least the numbers of another.
func (t Table) raise(k Key, r Row) {
	if t[k] == nil {
		t[k] = Row{}
	}
	for column, n := range r {
		t[k][column] = max(t[k][column], n)
	}
}

// Exceeds returns what of a table is over its limits: numbers that are larger, rows that the limits do not have, and
// rows that only the limits have. The numbers of a loop are compared per product.
func (t Table) Exceeds(limits Table) []string {
	var over []string
	for _, k := range t.keys() {
		limit, ok := limits[k]
		if !ok {
			over = append(over, fmt.Sprintf("%s: not in the table of limits", k))
			continue
		}
		per, limitPer := 1, 1 // a loop that the assembler unrolls twice has twice of everything
		if n, m := t[k]["products"], limit["products"]; n*m > 0 {
			per, limitPer = n, m
		}
		for _, column := range columns {
			if column != "products" && t[k][column]*limitPer > limit[column]*per {
				over = append(over, fmt.Sprintf("%s: %s: %d, want at most %d", k, column, t[k][column], limit[column]))
			}
		}
	}
	for _, k := range limits.keys() {
		if t[k] == nil {
			over = append(over, fmt.Sprintf("%s: not found, but in the table of limits", k))
		}
	}
	return over
}

// String returns the key as errors name it.
func (k Key) String() string {
	if k.Loop == "" {
		return k.Kernel + " on " + k.Target
	}
	return fmt.Sprintf("%s, loop %q, on %s", k.Kernel, k.Loop, k.Target)
}

// keys returns the keys of a table in the order of its file.
func (t Table) keys() []Key {
	return slices.SortedFunc(maps.Keys(t), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Loop, b.Loop),
			cmp.Compare(len(a.Target), len(b.Target)), cmp.Compare(a.Target, b.Target))
	})
}

// Write writes the table as CSV.
func (t Table) Write(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(append([]string{"kernel", "loop", "target"}, columns...)) // Error below
	for _, k := range t.keys() {
		record := []string{k.Kernel, k.Loop, k.Target}
		for _, column := range columns {
			text := ""
			if n, ok := t[k][column]; ok {
				text = strconv.Itoa(n)
			}
			record = append(record, text)
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// ReadTable reads what [Table.Write] wrote.
func ReadTable(text []byte) (Table, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("sass: table of limits: %w", err)
	}
	if len(records) == 0 || !slices.Equal(records[0][min(3, len(records[0])):], columns) {
		return nil, fmt.Errorf("sass: table of limits: want the columns kernel, loop, target and %v", columns)
	}
	t := Table{}
	for i, r := range records[1:] {
		row := Row{}
		for c, text := range r[3:] {
			if text == "" {
				continue
			}
			if row[columns[c]], err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("sass: table of limits, line %d: %w", i+2, err)
			}
		}
		t[Key{r[0], r[1], r[2]}] = row
	}
	return t, nil
}
