package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// leafUser is a user of a file made alike.
type leafUser struct {
	name   string
	images [][]uint8 // [n][784]
	labels []uint8
}

// smallLEAF makes a small FEMNIST: two files of a part, of two writers and of one, with 3, 2 and 4 training samples and
// 2, 1 and 1 test samples.
func smallLEAF() map[string][]byte {
	content := map[string][]byte{}
	for part, name := range partNames {
		random := rand.New(rand.NewPCG(5, uint64(part)))
		user := func(name string, sizes ...int) (u leafUser) {
			u.name = name
			for range sizes[part] {
				image := bytes.Repeat([]uint8{255}, femnistPixels)
				for i := range image {
					if random.IntN(4) == 0 {
						image[i] = uint8(random.IntN(256))
					}
				}
				u.images, u.labels = append(u.images, image), append(u.labels, uint8(random.IntN(femnistClasses)))
			}
			return u
		}
		file := func(i int) string { return fmt.Sprintf("%s/all_data_%d_niid_0_keep_0_%s_9.json", name, i, name) }
		content[file(0)] = leafJSON(user("f0001_41", 3, 2), user("f0002_10", 2, 1))
		content[file(1)] = leafJSON(user("f0003_07", 4, 1))
	}
	return content
}

// leafJSON is what Python's json.dump writes of the object that LEAF's scripts make, see TestLEAFAsPython.
func leafJSON(users ...leafUser) []byte {
	var names, sizes, data []string
	for _, u := range users {
		var images, labels []string
		for i, image := range u.images {
			var pixels []string
			for _, v := range image {
				text := strconv.FormatFloat(float64(v)/255, 'g', -1, 64)
				if !strings.Contains(text, ".") {
					text += ".0"
				}
				pixels = append(pixels, text)
			}
			images = append(images, "["+strings.Join(pixels, ", ")+"]")
			labels = append(labels, strconv.Itoa(int(u.labels[i])))
		}
		names, sizes = append(names, strconv.Quote(u.name)), append(sizes, strconv.Itoa(len(u.labels)))
		data = append(data, fmt.Sprintf(`%q: {"x": [%s], "y": [%s]}`, u.name, strings.Join(images, ", "),
			strings.Join(labels, ", ")))
	}
	return fmt.Appendf(nil, `{"users": [%s], "num_samples": [%s], "user_data": {%s}}`, strings.Join(names, ", "),
		strings.Join(sizes, ", "), strings.Join(data, ", "))
}

// leafObject is a file as encoding/json reads it.
type leafObject struct {
	Users      []string            `json:"users"`
	NumSamples []float64           `json:"num_samples"`
	UserData   map[string]leafData `json:"user_data"`
}

type leafData struct {
	X [][]float64 `json:"x"`
	Y []float64   `json:"y"`
}

// moved gives the first user's last sample of a file of several users to the second one, as the first.
func moved(t *testing.T, data []byte) []byte {
	t.Helper()
	var o leafObject
	must.OK(t, json.Unmarshal(data, &o))
	if len(o.Users) < 2 {
		return data
	}
	a, b := o.UserData[o.Users[0]], o.UserData[o.Users[1]]
	last := len(a.Y) - 1
	b.X, b.Y = slices.Concat(a.X[last:], b.X), slices.Concat(a.Y[last:], b.Y)
	a.X, a.Y = a.X[:last], a.Y[:last]
	o.UserData[o.Users[0]], o.UserData[o.Users[1]] = a, b
	o.NumSamples[0], o.NumSamples[1] = o.NumSamples[0]-1, o.NumSamples[1]+1
	return must.Get(json.Marshal(o))(t)
}

func openLEAF(t *testing.T, content map[string][]byte) *Set {
	t.Helper()
	dir, _, _ := alone(t)
	for name, data := range content {
		write(t, filepath.Join(dir, name), data)
	}
	return must.Get(Open(t.Context(), "femnist", Options{Dir: dir}))(t)
}

// The files made here are byte for byte those of Python's json.dump, after LEAF's division of bytes by 255.
func TestLEAFAsPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python: ", err)
	}
	image := make([]uint8, femnistPixels)
	for i := range image {
		image[i] = uint8(i)
	}
	const script = `
import json, sys
vec = [v / 255 for v in [i % 256 for i in range(784)]]
users, sizes, data = [], [], {}
for name, labels in (("f0001_41", [3, 61]), ("f0002_10", [0])):
    users.append(name)
    sizes.append(len(labels))
    data[name] = {"x": [vec for _ in labels], "y": labels}
json.dump({"users": users, "num_samples": sizes, "user_data": data}, sys.stdout)
`
	want := must.Get(exec.Command(python, "-c", script).Output())(t)
	got := leafJSON(leafUser{"f0001_41", [][]uint8{image, image}, []uint8{3, 61}},
		leafUser{"f0002_10", [][]uint8{image}, []uint8{0}})
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want the %d of Python", len(got), len(want))
	}
	writers := must.Get(readLEAF(bytes.NewReader(want)))(t)
	if len(writers) != 2 || !bytes.Equal(writers[0].images, slices.Concat(image, image)) ||
		!bytes.Equal(writers[0].labels, []uint8{3, 61}) || writers[1].name != "f0002_10" {
		t.Errorf("read %d writers, want the two of the file", len(writers))
	}
}

// The set has the files' samples in order, by the names of the files, and knows who has written which.
func TestFEMNIST(t *testing.T) {
	content := smallLEAF()
	for _, at := range []string{"", "femnist", "femnist/data", "leaf/data/femnist/data"} {
		dir, env, _ := alone(t)
		for name, data := range content {
			write(t, filepath.Join(env, at, name), data)
		}
		write(t, filepath.Join(env, at, "train", "readme.txt"), []byte("no JSON"))
		set := must.Get(Open(t.Context(), "femnist", Options{Dir: dir}))(t)
		if set.Dir != filepath.Join(env, at) || set.Train.Len() != 9 || set.Test.Len() != 4 {
			t.Errorf("%q: %d and %d samples of %s, want 9 and 4", at, set.Train.Len(), set.Test.Len(), set.Dir)
		}
		n := set.Natural
		if got := fmt.Sprint(n.Train, n.Test); got != "[[0 1 2] [3 4] [5 6 7 8]] [[0 1] [2] [3]]" {
			t.Errorf("%q: writers have %s", at, got)
		}
		var o leafObject
		must.OK(t, json.Unmarshal(content["train/all_data_0_niid_0_keep_0_train_9.json"], &o))
		x := slices.Concat(slices.Concat(o.UserData["f0001_41"].X...), slices.Concat(o.UserData["f0002_10"].X...))
		for i, v := range x {
			if got := float64(set.Train.Images[i]) / 255; got != v {
				t.Fatalf("%q: pixel %d is %g, want %g", at, i, got, v)
			}
		}
		mean, std := moments(set.Train.Images, 1)
		if set.Train.Mean[0] != mean[0] || set.Test.Std[0] != std[0] || mean[0] < 0.8 { // three quarters are white
			t.Errorf("%q: mean %g and deviation %g, want the training set's %g, %g", at, set.Train.Mean, set.Test.Std,
				mean, std)
		}
		all := must.Get(Verify(t.Context(), "femnist", Options{Dir: dir}))(t)
		if len(all) != 4 || all[0].Status != Unchecked || !strings.Contains(all[0].String(), "nothing is recorded") {
			t.Errorf("%q: verify says %v, want 4 files that nothing is known of", at, all)
		}
	}
}

// A file that has a record must have its bytes.
func TestFEMNISTRecord(t *testing.T) {
	dir, _, _ := alone(t)
	s := newSmall(t, "femnist")
	s.lay(t, dir)
	path := filepath.Join(dir, "test", "all_data_1_niid_0_keep_0_test_9.json")
	must.OK(t, writeRecord(path, "as made", must.Get(recordOf(t.Context(), path))(t)))
	want := func(status Status) {
		t.Helper()
		if all := must.Get(Verify(t.Context(), "femnist", Options{Dir: dir}))(t); all[3].Status != status {
			t.Errorf("%s, want %s", all[3], status)
		}
	}
	must.Get(Open(t.Context(), "femnist", Options{Dir: dir}))(t)
	want(Recorded)
	write(t, path, append(s.content["test/"+filepath.Base(path)], ' '))
	_, err := Open(t.Context(), "femnist", Options{Dir: dir})
	wantError(t, err, ErrAltered, "datasets: femnist: ", "all_data_1_niid_0_keep_0_test_9.json: altered: ", "SHA-256 ")
	want(Altered)
	must.Get(Open(t.Context(), "femnist", Options{Dir: dir, AllowAltered: true}))(t)
}

// Where the set is not, the error says how to make it, and nothing is asked for over the network.
func TestFEMNISTNotFound(t *testing.T) {
	dir, _, _ := alone(t)
	_, err := Fetch(t.Context(), "femnist", Options{Dir: dir})
	wantError(t, err, ErrNotFound, "datasets: femnist: ", "nobody publishes it", "preprocess.sh -s niid", "--data-dir")
	name := "train/all_data_0_niid_0_keep_0_train_9.json"
	write(t, filepath.Join(dir, name), smallLEAF()[name])
	_, err = Open(t.Context(), "femnist", Options{Dir: dir})
	wantError(t, err, ErrNotFound, "lacks test")
	all := must.Get(Verify(t.Context(), "femnist", Options{Dir: dir}))(t)
	if len(all) != 2 || all[0].Status != Unchecked || all[1].Status != Missing {
		t.Errorf("verify says %v, want a file and that the test part is missing", all)
	}
}

// What is no file of LEAF's is refused, whatever it claims, with a line that names the file and the place in it.
func TestFEMNISTErrors(t *testing.T) {
	const first, second = "train/all_data_0_niid_0_keep_0_train_9.json", "train/all_data_1_niid_0_keep_0_train_9.json"
	const test = "test/all_data_1_niid_0_keep_0_test_9.json"
	image := make([]uint8, femnistPixels)
	one := func(name string) []byte { return leafJSON(leafUser{name, [][]uint8{image}, []uint8{7}}) }
	swap := func(old, new string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(new), 1) }
	}
	is := func(data string) func([]byte) []byte { return func([]byte) []byte { return []byte(data) } }
	for _, c := range []struct {
		name, file string
		spoil      func(data []byte) []byte
		want       string
	}{
		{"empty", first, is(""), "truncated: unexpected EOF"},
		{"a web page", first, is("<html>"), `'<', want '{'`},
		{"an array", first, is("[1]"), `'[', want '{'`},
		{"of nothing", first, is("{}"), `no "users", want a file of LEAF's`},
		{"cut", first, func(data []byte) []byte { return data[:len(data)-100] }, "truncated: unexpected EOF"},
		{"cut at the end", first, func(data []byte) []byte { return data[:len(data)-1] }, "truncated"},
		{"too long", first, func(data []byte) []byte { return append(data, '}') }, "'}' after the end"},
		{"a key twice", first, swap(`{"users"`, `{"users": [], "users"`), `"users": twice in the file`},
		{"NaN", second, swap("[[1.0", "[[NaN"), `user "f0003_07": image 0: "NaN", want a finite number`},
		{"infinity", second, swap("[[1.0", "[[1e999"), `image 0: "1e999", want a finite number`},
		{"hexadecimal", second, swap("[[1.0", "[[0x1p0"), `image 0: "0x1p0", want a finite number`},
		{"a plus", second, swap("[[1.0", "[[+1.0"), `image 0: "+1.0", want a finite number`},
		{"a long number", second, swap("[[1.0", "[[1."+strings.Repeat("0", 40)), `image 0: "1.0000`},
		{"grey values", second, swap("[[1.0", "[[255"), "image 0: pixel 255, want a grey value divided by 255"},
		{"negative", second, swap("[[1.0", "[[-0.5"), "image 0: pixel -0.5, want a grey value divided by 255"},
		{"no grey value", second, swap("[[1.0", "[[0.5"), "image 0: pixel 0.5, want a grey value divided by 255"},
		{"a pixel less", second, swap("[[1.0, ", "[["), "image 0: 783 pixels, want 784"},
		{"a pixel more", second, swap("[[1.0", "[[1.0, 1.0"), "image 0: more than 784 pixels"},
		{"deeper", second, swap("[[1.0", "[[[1.0]"), "image 0: '[', want a number"},
		{"text", second, swap("[[1.0", `[["1.0"`), `image 0: '"', want a number`},
		{"no pixel", second, swap("[[1.0", `[[`), `image 0: ',', want a number`},
		{"a last comma", second, swap(`]], "y"`, `],], "y"`), "']' after a comma"},
		{"no comma", second, swap("[[1.0, ", "[[1.0 "), "want , or ']'"},
		{"a class of EMNIST", first, func([]byte) []byte {
			return leafJSON(leafUser{"w", [][]uint8{image, image}, []uint8{61, 62}})
		}, `user "w": label 1 is 62, want 0 … 61`},
		{"half a class", first, is(strings.Replace(string(one("w")), `"y": [7`, `"y": [7.5`, 1)), "label 0 is 7.5"},
		{
			"a label more", first, is(strings.Replace(string(one("w")), `"y": [7`, `"y": [7, 7`, 1)),
			"1 images and 2 labels",
		},
		{"no labels", first, is(strings.Replace(string(one("w")), `"y": [7]`, `"x": []`, 1)), `"x" twice`},
		{"another key", first, is(strings.Replace(string(one("w")), `"y"`, `"z"`, 1)), `"z", want x and y`},
		{"no key", first, is(`{"user_data": {"w": {}}}`), "no samples, want x and y"},
		{"sizes", second, swap("[4]", "[5]"), `user "f0003_07": 4 samples, want 5, as "num_samples" says`},
		{"sizes of others", second, swap("[4]", "[4, 4]"), `"num_samples": 2 numbers, want 1`},
		{
			"a user twice", second, swap(`"users": ["f0003_07"]`, `"users": ["f0003_07", "f0003_07"]`),
			"1 numbers, want 2",
		},
		{"an unknown user", second, swap(`"users": ["f0003_07"]`, `"users": ["other"]`), `user "other": twice`},
		{
			"a hidden user", second,
			swap(`"users": ["f0003_07"], "num_samples": [4]`, `"users": [], "num_samples": []`),
			`4 samples of a user who is not in "users"`,
		},
		{"a user twice in the data", first, is(strings.Replace(string(one("w")), `"user_data": {`,
			`"user_data": {"w": {"x": [], "y": []}, `, 1)), `user "w": twice in the file`},
		{"a user in two files", second, is(string(one("f0001_41"))), `writer "f0001_41" is in ` + first + " too"},
		{"a test user alone", test, is(string(one("f9999_99"))), `writer "f9999_99" is not in the training part`},
		{"a long name", first, is(`{"` + strings.Repeat("x", 1<<20)), "a name of more than 255 bytes"},
		{"nesting", first, is(`{"hierarchies": ` + strings.Repeat("[", 1<<20)), "more than 16 brackets in each other"},
		{"nesting of objects", first, is(`{"h": ` + strings.Repeat(`{"a":`, 1<<10)), "more than 16 brackets"},
		{"other keys", first, is("{" + strings.Repeat(`"k": 1, `, 2)), `"k": twice in the file`},
		{"iid", "train/all_data_0_iid_01_05_keep_0_train_9.json", is(string(one("0"))), "whose users are no writers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, _ := alone(t)
			content := smallLEAF()
			content[c.file] = c.spoil(content[c.file])
			for name, data := range content {
				write(t, filepath.Join(dir, name), data)
			}
			_, err := Open(t.Context(), "femnist", Options{Dir: dir, AllowAltered: true})
			wantError(t, err, nil, "datasets: femnist: "+c.file+": ", c.want)
			all := must.Get(Verify(t.Context(), "femnist", Options{Dir: dir}))(t)
			bad := 0
			for _, f := range all {
				if f.Status == Malformed && f.File == c.file {
					bad++
				} else if !f.Status.OK() {
					t.Errorf("%s, want it unchecked", f)
				}
			}
			if bad != 1 {
				t.Errorf("verify says %v, want %s malformed", all, c.file)
			}
		})
	}
}

// LEAF leaves users without samples in the data, and keys beside its own in other sets.
func TestFEMNISTExtras(t *testing.T) {
	content := smallLEAF()
	for name, data := range content {
		data = bytes.Replace(data, []byte(`"user_data": {`), []byte(`"user_data": {"few": {"x": [], "y": []}, `), 1)
		const more = `{"hierarchies": [["a", {"b": [1.5e3]}], null], "users"`
		data = bytes.Replace(data, []byte(`{"users"`), []byte(more), 1)
		content[name] = data
	}
	if got, want := openLEAF(t, content).Checksum, openLEAF(t, smallLEAF()).Checksum; got != want {
		t.Errorf("checksum %s, want %s, as without", got, want)
	}
}

// What a file claims takes no memory: names, sizes and brackets are bounded, and a sample needs its 784 numbers.
func TestFEMNISTHostile(t *testing.T) {
	for name, data := range map[string]string{
		"a list of names":   `{"users": [` + strings.Repeat(`"",`, 1<<20),
		"a list of sizes":   `{"num_samples": [` + strings.Repeat("0,", 1<<20),
		"a list of nothing": `{"h": [` + strings.Repeat("0,", 1<<21),
		"keys":              "{" + strings.Repeat(" ", 1<<20),
		"a list of users":   `{"user_data": {` + strings.Repeat(`"a": {"x": [], "y": []}, `, 1<<16),
		"a number":          `{"user_data": {"a": {"x": [[` + strings.Repeat("1", 1<<20),
		"labels":            `{"user_data": {"a": {"y": [` + strings.Repeat("1,", 1<<21),
	} {
		var err error
		got := allocated(func() { _, err = readLEAF(strings.NewReader(data)) })
		wantError(t, err, nil)
		if most := uint64(8*len(data) + 1<<18); got > most {
			t.Errorf("%s: %d bytes allocated for a file of %d, want at most %d", name, got, len(data), most)
		}
	}
}

// FuzzLEAF: whatever the bytes, the reader does not panic; what it accepts, encoding/json reads the same.
func FuzzLEAF(f *testing.F) {
	for _, data := range smallLEAF() {
		f.Add(data)
	}
	f.Add([]byte(`{"users": ["a\"\u0041"], "num_samples": [0], "user_data": ` +
		`{"a\"A": {"y": [ ], "x": []}}, "h": {"a": 1}}`))
	f.Add([]byte(`{"users": [], "num_samples": [], "user_data": {}, "h": [tru]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		writers, err := readLEAF(bytes.NewReader(data))
		if err != nil {
			if writers != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("refused (%q), yet something was returned, or the error has several lines", err)
			}
			return
		}
		var o leafObject
		if err := json.Unmarshal(data, &o); err != nil {
			t.Fatalf("accepted what is no JSON: %v", err)
		}
		if len(writers) != len(o.Users) {
			t.Fatalf("%d writers, want %d", len(writers), len(o.Users))
		}
		for i, w := range writers {
			own := o.UserData[o.Users[i]]
			if w.name != o.Users[i] || len(w.labels) != len(own.Y) || float64(len(own.Y)) != o.NumSamples[i] {
				t.Fatalf("writer %d: %q with %d samples, want %q with %d", i, w.name, len(w.labels), o.Users[i],
					len(own.Y))
			}
			for j, v := range slices.Concat(own.X...) {
				if math.Abs(float64(w.images[j])-v*255) > 255e-6 {
					t.Fatalf("writer %d: pixel %d is %d, want %g of 255", i, j, w.images[j], v*255)
				}
			}
			for j, l := range own.Y {
				if float64(w.labels[j]) != l {
					t.Fatalf("writer %d: label %d is %d, want %g", i, j, w.labels[j], l)
				}
			}
		}
	})
}
