package datasets

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestReadSplit(t *testing.T) {
	for name, text := range map[string]string{
		"as documented":    "client,index\n0,4\n2,1\n0,3\n",
		"columns swapped":  "index,client\n4,0\n1,2\n3,0\n",
		"spaces":           " client , index \n0, 4 \n2,1\n 0,3\n",
		"mark and CRLF":    "\ufeffclient,index\r\n0,4\r\n2,1\r\n0,3\r\n",
		"no last line end": "client,index\n0,4\n2,1\n0,3",
		"empty lines":      "client,index\n0,4\n\n2,1\n,\n0,3\n\n",
		"quotes":           "\"client\",\"index\"\n\"0\",\"4\"\n2,1\n0,3\n",
		"other row order":  "client,index\n2,1\n0,4\n0,3\n",
	} {
		parts := must.Get(ReadSplit(strings.NewReader(text), 5))(t)
		if got := fmt.Sprint(parts); got != "[[4 3] [] [1]]" {
			t.Errorf("%s: %s, want [[4 3] [] [1]]: a client's samples in the order of the rows", name, got)
		}
	}
}

func TestReadSplitErrors(t *testing.T) {
	const want = "want client,index"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty, want the columns client,index"},
		{"blank", "\n\n", "empty, want the columns client,index"},
		{"header alone", "client,index\n", "no row, want one for each sample of a client"},
		{"no header", "0,1\n1,2\n", `line 1: columns ["0" "1"], ` + want},
		{"one column", "client\n0\n", `line 1: columns ["client"], ` + want},
		{"another column", "client,index,part\n0,1,train\n", `line 1: columns ["client" "index" "part"], ` + want},
		{"another name", "client,sample\n0,1\n", `line 1: columns ["client" "sample"], ` + want},
		{"a column twice", "client,client\n0,1\n", `line 1: columns ["client" "client"], ` + want},
		{"upper case", "Client,Index\n0,1\n", `line 1: columns ["Client" "Index"], ` + want},
		{"semicolons", "client;index\n0;1\n", "line 1: columns separated by semicolons, want commas"},
		{"old Mac", "client,index\r0,1\r", "line 1: lines end with CR alone, want LF"},
		{"a cell less", "client,index\n0\n", "line 2: 1 columns, want client,index"},
		{"a cell more", "client,index\n0,1\n0,2,3\n", "line 3: 3 columns, want client,index"},
		{"no number", "client,index\n0,one\n", `line 2: index "one", want a whole number from 0 on`},
		{"a name", "client,index\n0,1\nanna,2\n", `line 3: client "anna", want a whole number from 0 on`},
		{"a fraction", "client,index\n0.0,1\n", `line 2: client "0.0", want a whole number from 0 on`},
		{"an empty cell", "client,index\n0,\n", `line 2: index "", want a whole number from 0 on`},
		{"below 0", "client,index\n0,-1\n", `line 2: index "-1", want a whole number from 0 on`},
		{"behind the set", "client,index\n0,5\n", "line 2: index 5, want 0 … 4"},
		{"far behind", "client,index\n0,99999999999999999999\n", "line 2: index 99999999999999999999, want 0 … 4"},
		{"too many clients", "client,index\n1000000,1\n", "line 2: client 1000000, want 0 … 999999"},
		{
			"twice", "client,index\n0,1\n1,2\n3,1\n",
			"line 4: index 1 again, as in line 2, want each sample at one client",
		},
		{
			"twice at a client", "client,index\n\n0,1\n0,1\n",
			"line 4: index 1 again, as in line 3, want each sample at one client",
		},
		{
			"an open quote", "client,index\n0,\"1\n",
			`parse error on line 2, column 6: extraneous or missing " in quoted-field`,
		},
		{
			"zeros", "client,index\n" + strings.Repeat("\x00", 2<<20),
			"more than 1048576 bytes in one row: damaged, or no CSV",
		},
	} {
		_, err := ReadSplit(strings.NewReader(c.text), 5)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// FuzzReadSplit: what is read has each sample once, none that the set has not, and is what its own text says.
func FuzzReadSplit(f *testing.F) {
	for _, text := range []string{
		"client,index\n0,4\n2,1\n", "index,client\n4,0\n4,0\n", "client,index\n999999,1\n", "client;index\n",
		"\ufeff\n", "client,index\n0,\"1\n", "client,index\n-0,+1\n",
	} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, samples int) {
		parts, err := ReadSplit(strings.NewReader(text), samples)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: error %q, want one line", text, err)
			}
			return
		}
		var again strings.Builder
		again.WriteString("client,index\n")
		for k, own := range parts {
			for _, at := range own {
				fmt.Fprintf(&again, "%d,%d\n", k, at)
			}
		}
		all := slices.Sorted(slices.Values(slices.Concat(parts...)))
		if n := len(all); n == 0 || all[0] < 0 || int(all[n-1]) >= samples || len(slices.Compact(all)) != n {
			t.Errorf("%q: samples %v, want each once, of %d", text, parts, samples)
		}
		if same, err := ReadSplit(strings.NewReader(again.String()), samples); !reflect.DeepEqual(same, parts) {
			t.Errorf("%q: %v, and of its own text %v, %v", text, parts, same, err)
		}
	})
}
