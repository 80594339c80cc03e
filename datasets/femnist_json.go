package datasets

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Limits on what a file of LEAF's may claim and contain.
const (
	maxLEAFName   = 255  // bytes of a name in quotes; LEAF's have 8: "f3795_12"
	maxLEAFNumber = 32   // bytes of a number; Python's shortest form of k/255 has up to 21
	maxLEAFDepth  = 16   // of what is skipped
	maxLEAFMemo   = 4096 // texts of numbers that are remembered
)

// leafReader reads JSON as it comes, in memory for the samples alone. Package encoding/json would make every number an
// object on the heap: 600 million of them.
type leafReader struct {
	r     *bufio.Reader
	text  []byte           // of the last number or name
	grey  map[string]uint8 // pixels by their text
	count int              // samples in the file
}

// readLEAF reads a file of FEMNIST as LEAF's scripts write it: an object of "users" [m], "num_samples" [m] and
// "user_data", in which every user has "x" [n][784], from 0 to 1, and "y" [n], 0 … 61. It returns the users in the
// order of "users". Users who are only in "user_data" must have no samples: LEAF leaves those there who have too few.
// Other keys are skipped.
//
// LEAF divides a grey value by 255, so that every number times 255 is a whole number, and a pixel a byte.
func readLEAF(from io.Reader) ([]writer, error) {
	p := &leafReader{r: bufio.NewReaderSize(from, 1<<16), grey: map[string]uint8{}}
	var users []string
	var sizes []int
	var data map[string]writer
	seen := map[string]bool{}
	err := p.object(func(key string) (err error) {
		if seen[key] {
			return fmt.Errorf("%.64q: twice in the file", key)
		}
		seen[key] = true
		switch key {
		case "users":
			users, err = p.names()
		case "num_samples":
			err = p.wholes(maxMadeClients, math.MaxInt32, func(n int) { sizes = append(sizes, n) })
		case "user_data":
			data, err = p.users()
		default:
			if len(seen) > maxLEAFDepth {
				return fmt.Errorf("%.64q: more than %d keys", key, maxLEAFDepth)
			}
			err = p.skip(0)
		}
		if err != nil {
			return fmt.Errorf("%.64q: %w", key, err)
		}
		return nil
	})
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"users", "num_samples", "user_data"} {
		if !seen[key] {
			return nil, fmt.Errorf("no %q, want a file of LEAF's", key)
		}
	}
	return listed(users, sizes, data)
}

// listed returns the users of a file in the order of its list, with their samples.
func listed(users []string, sizes []int, data map[string]writer) ([]writer, error) {
	if len(sizes) != len(users) {
		return nil, fmt.Errorf(`"num_samples": %d numbers, want %d, one for each user`, len(sizes), len(users))
	}
	all := make([]writer, 0, len(users))
	for i, name := range users {
		w, known := data[name]
		switch {
		case !known:
			return nil, fmt.Errorf(`user %.64q: twice in "users", or not in "user_data"`, name)
		case len(w.labels) != sizes[i]:
			return nil, fmt.Errorf(`user %.64q: %d samples, want %d, as "num_samples" says`, name, len(w.labels),
				sizes[i])
		}
		delete(data, name)
		all = append(all, w)
	}
	for name, w := range data {
		if len(w.labels) > 0 {
			return nil, fmt.Errorf(`user %.64q: %d samples of a user who is not in "users"`, name, len(w.labels))
		}
	}
	return all, nil
}

// users reads the object "user_data".
func (p *leafReader) users() (map[string]writer, error) {
	all := map[string]writer{}
	err := p.object(func(name string) error {
		if _, twice := all[name]; twice || len(all) == maxMadeClients {
			return fmt.Errorf("user %.64q: twice in the file, or after %d others", name, len(all))
		}
		w, err := p.user(name)
		if err != nil {
			return fmt.Errorf("user %.64q: %w", name, err)
		}
		all[name] = w
		return nil
	})
	return all, err
}

// user reads the samples of one user.
func (p *leafReader) user(name string) (writer, error) {
	w := writer{name: name}
	images, has := 0, map[string]bool{}
	err := p.object(func(key string) error {
		if has[key] {
			return fmt.Errorf("%q twice", key)
		}
		has[key] = true
		switch key {
		case "x":
			return p.array(func(i int) error {
				images = i + 1
				if p.count++; p.count > maxPictures {
					return fmt.Errorf("more than %d samples in the file", maxPictures)
				}
				if err := p.image(&w.images); err != nil {
					return fmt.Errorf("image %d: %w", i, err)
				}
				return nil
			})
		case "y":
			err := p.wholes(maxPictures, femnistClasses-1, func(l int) { w.labels = append(w.labels, uint8(l)) })
			if err != nil {
				return fmt.Errorf("label %w", err)
			}
			return nil
		}
		return fmt.Errorf("%.64q, want x and y", key)
	})
	switch {
	case err != nil:
		return w, err
	case !has["x"] || !has["y"]:
		return w, errors.New("no samples, want x and y")
	case images != len(w.labels):
		return w, fmt.Errorf("%d images and %d labels, want as many", images, len(w.labels))
	}
	w.images = slices.Clip(w.images)
	return w, nil
}

// image reads an image and appends it to pixels.
func (p *leafReader) image(pixels *[]uint8) error {
	n := 0
	err := p.array(func(i int) error {
		if i >= femnistPixels {
			return fmt.Errorf("more than %d pixels", femnistPixels)
		}
		v, err := p.pixel()
		*pixels, n = append(*pixels, v), i+1
		return err
	})
	if err == nil && n != femnistPixels {
		return fmt.Errorf("%d pixels, want %d", n, femnistPixels)
	}
	return err
}

// pixel reads a number that is a multiple of 1/255, to 1e-6.
func (p *leafReader) pixel() (uint8, error) {
	if err := p.number(); err != nil {
		return 0, err
	}
	if v, known := p.grey[string(p.text)]; known {
		return v, nil
	}
	x, err := p.value()
	if err != nil {
		return 0, err
	}
	v := math.Round(x * 255)
	if !(v >= 0 && v <= 255) || math.Abs(x*255-v) > 255e-6 {
		return 0, fmt.Errorf("pixel %s, want a grey value divided by 255, from 0 to 1", p.text)
	}
	if len(p.grey) < maxLEAFMemo {
		p.grey[string(p.text)] = uint8(v)
	}
	return uint8(v), nil
}

// names reads an array of names.
func (p *leafReader) names() (all []string, err error) {
	err = p.array(func(i int) error {
		if i == maxMadeClients {
			return fmt.Errorf("more than %d names", maxMadeClients)
		}
		name, err := p.name()
		all = append(all, name)
		return err
	})
	return all, err
}

// wholes reads an array of up to n whole numbers, 0 … most.
func (p *leafReader) wholes(n, most int, add func(int)) error {
	return p.array(func(i int) error {
		if i == n {
			return fmt.Errorf("%d: more than %d numbers", i, n)
		}
		if err := p.number(); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
		x, err := p.value()
		if err != nil || x != math.Trunc(x) || x < 0 || x > float64(most) {
			return fmt.Errorf("%d is %s, want 0 … %d", i, p.text, most)
		}
		add(int(x))
		return nil
	})
}

// value returns the number that was read, if JSON has such a number: no NaN, and no infinity.
func (p *leafReader) value() (float64, error) {
	if x, err := strconv.ParseFloat(string(p.text), 64); err == nil && json.Valid(p.text) {
		return x, nil
	}
	return 0, fmt.Errorf("%q, want a finite number", p.text)
}

// number reads the text of a number, or of anything else up to the next mark or space.
func (p *leafReader) number() error {
	c, err := p.next()
	for p.text = p.text[:0]; err == nil; c, err = p.r.ReadByte() {
		switch c {
		case ',', ']', '}', '[', '{', ':', '"', ' ', '\n', '\r', '\t':
			if err = p.r.UnreadByte(); err == nil && len(p.text) == 0 {
				err = fmt.Errorf("%q, want a number", c)
			}
			return err
		}
		if p.text = append(p.text, c); len(p.text) > maxLEAFNumber {
			return fmt.Errorf("%q…, want a number", p.text)
		}
	}
	return cutShort(err)
}

// name reads a text in quotes.
func (p *leafReader) name() (name string, err error) {
	c, err := p.next()
	if err == nil && c != '"' {
		return "", fmt.Errorf("%q, want a name in quotes", c)
	}
	p.text = append(p.text[:0], c)
	plain, escaped := true, false
	for err == nil {
		if c, err = p.r.ReadByte(); err != nil {
			break
		}
		if p.text = append(p.text, c); len(p.text) > maxLEAFName {
			return "", fmt.Errorf("%.32q…: a name of more than %d bytes", p.text, maxLEAFName)
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
		plain = plain && c >= ' ' && c < 0x7f && c != '\\'
	}
	switch {
	case err != nil:
		return "", cutShort(err)
	case plain:
		return string(p.text[1 : len(p.text)-1]), nil
	}
	if err := json.Unmarshal(p.text, &name); err != nil {
		return "", fmt.Errorf("%.64q: %w", p.text, err)
	}
	return name, nil
}

// object reads an object; read reads the value of a key.
func (p *leafReader) object(read func(key string) error) error {
	return p.list('{', '}', func(int) error {
		key, err := p.name()
		if err != nil {
			return err
		}
		if err := p.mark(':'); err != nil {
			return err
		}
		return read(key)
	})
}

// array reads an array; read reads element i.
func (p *leafReader) array(read func(i int) error) error { return p.list('[', ']', read) }

// list reads what is between two brackets, with commas between the elements.
func (p *leafReader) list(begin, end byte, read func(i int) error) error {
	if err := p.mark(begin); err != nil {
		return err
	}
	for i := 0; ; i++ {
		c, err := p.next()
		switch {
		case err != nil:
			return cutShort(err)
		case c == end:
			return nil
		case i > 0 && c != ',':
			return fmt.Errorf("%q, want , or %q", c, end)
		case i == 0:
			err = p.r.UnreadByte()
		}
		if err == nil && i > 0 { // a comma is no end
			if c, err = p.next(); err == nil && c == end {
				return fmt.Errorf("%q after a comma", c)
			}
			if err == nil {
				err = p.r.UnreadByte()
			}
		}
		if err != nil {
			return cutShort(err)
		}
		if err := read(i); err != nil {
			return err
		}
	}
}

// skip reads over a value, of which there are up to maxPictures in each list.
func (p *leafReader) skip(depth int) error {
	c, err := p.next()
	if err == nil {
		err = p.r.UnreadByte()
	}
	element := func(i int) error {
		if i == maxPictures {
			return fmt.Errorf("more than %d elements", i)
		}
		return p.skip(depth + 1)
	}
	switch {
	case err != nil:
		return cutShort(err)
	case depth > maxLEAFDepth:
		return fmt.Errorf("more than %d brackets in each other", maxLEAFDepth)
	case c == '{':
		i := -1
		return p.object(func(string) error { i++; return element(i) })
	case c == '[':
		return p.array(element)
	case c == '"':
		_, err := p.name()
		return err
	}
	if err := p.number(); err != nil {
		return err
	}
	if !json.Valid(p.text) {
		return fmt.Errorf("%q, want a number", p.text)
	}
	return nil
}

// mark reads one character.
func (p *leafReader) mark(want byte) error {
	switch c, err := p.next(); {
	case err != nil:
		return cutShort(err)
	case c != want:
		return fmt.Errorf("%q, want %q", c, want)
	}
	return nil
}

// next returns the next character that is no space.
func (p *leafReader) next() (byte, error) {
	for {
		c, err := p.r.ReadByte()
		if err != nil || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, err
		}
	}
}

// end checks that nothing follows.
func (p *leafReader) end() error {
	switch c, err := p.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%q after the end", c)
	}
}
