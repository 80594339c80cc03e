package datasets

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// mirror serves files by name from two addresses, /first/ and /second/, and keeps the paths asked for.
type mirror struct {
	url   string
	files map[string][]byte // by path: "first/train.gz"; others are not found
	mu    sync.Mutex
	asked []string
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{files: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, r.URL.Path[1:])
		if data, ok := m.files[r.URL.Path[1:]]; ok {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	m.url = server.URL + "/"
	return m
}

// The second address is asked if the first does not deliver, or not the file.
func TestMirrors(t *testing.T) {
	const file = "t10k-labels-idx1-ubyte.gz"
	for _, c := range []struct {
		name  string
		spoil func(m *mirror)
		is    error  // nil: the set is there in the end
		want  string // in the error
		left  bool   // a part file is left, to go on from
	}{
		{"first has it not", func(m *mirror) { delete(m.files, "first/"+file) }, nil, "", false},
		{"first has another", func(m *mirror) { m.files["first/"+file] = []byte("something else") }, nil, "", false},
		{
			"none has it", func(m *mirror) { delete(m.files, "first/"+file); delete(m.files, "second/"+file) },
			ErrUnavailable, "second/" + file + ": unavailable: status 404", true,
		},
		{"none has the right one", func(m *mirror) {
			m.files["first/"+file], m.files["second/"+file] = []byte("something else"), []byte("another")
		}, ErrAltered, "second/" + file + ": not the official file: MD5 ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t)
			s, _ := miniMNIST(t, m)
			c.spoil(m)
			dir, _, _ := alone(t)
			set, err := Open(t.Context(), "mnist", Options{Dir: dir, official: s})
			raw := filepath.Join(dir, "MNIST", "raw")
			if c.is == nil {
				if err != nil {
					t.Fatal(err)
				}
				if set.Dir != raw || !slices.Contains(m.asked, "second/"+file) || len(m.asked) != 5 {
					t.Errorf("in %s after %q, want %s after 5 requests, one to second/%s", set.Dir, m.asked, raw, file)
				}
				wantClean(t, raw, s.files[0].name, s.files[1].name, s.files[2].name, s.files[3].name)
				return
			}
			wantError(t, err, c.is, "datasets: mnist: not found, looked in ", "first/"+file, c.want)
			wantError(t, err, ErrNotFound)
			if got := isFile(filepath.Join(raw, file+".part")); got != c.left {
				t.Errorf("a part file is left: %v, want %v", got, c.left)
			}
		})
	}
}
