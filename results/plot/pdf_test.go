package plot

import (
	"bytes"
	"compress/zlib"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// stream returns the drawing operators of a PDF with one page.
func stream(t *testing.T, pdf []byte) string {
	t.Helper()
	_, rest, found := bytes.Cut(pdf, []byte("stream\n"))
	if !found {
		t.Fatal("no stream in the PDF")
	}
	return string(must.Get(io.ReadAll(must.Get(zlib.NewReader(bytes.NewReader(rest)))(t)))(t))
}

// A PDF has the size of the paper's column, its font within, Greek letters, transparent bands in their own colour and
// the dashes of its lines; the same figure has the same bytes.
func TestPDF(t *testing.T) {
	f := Figure{Title: "γ = 0.3, −η", Panels: [][]Chart{{
		LineChart{Series: []Series{
			{Name: "ω", X: []float64{0, 1}, Y: []float64{1, 2}, Low: []float64{0, 1}, High: []float64{2, 3}},
			{Name: "τ̂", X: []float64{0, 1}, Y: []float64{2, 1}},
		}},
		Bubbles{Shares: [][]float64{{0.5}}},
	}}}
	var first, again bytes.Buffer
	must.OK(t, f.writePDF(&first, ColumnWidth))
	must.OK(t, f.writePDF(&again, ColumnWidth))
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("another drawing of the same figure has other bytes")
	}
	if first.Len() > 60_000 {
		t.Errorf("%d bytes, want the letters that occur alone, not the whole font of 400 kB", first.Len())
	}
	text := first.String()
	for _, want := range []string{"/MediaBox [0 0 237.60 ", "/FontFile2", "/ToUnicode", "/ca 0.125"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the PDF", want)
		}
	}
	drawn := stream(t, first.Bytes())
	for _, want := range []string{"[7.000 3.000] 0.000 d", "0.835 0.369 0.000 RG", "0.110 0.122 0.141 rg"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q among the operators", want)
		}
	}
	if curves := len(regexp.MustCompile(`(?m) c$`).FindAllString(drawn, -1)); curves != (5+3)*4 {
		t.Errorf("%d curves, want four for the circle, each of four in the key, and each round mark", curves)
	}
	if pops, pushes := strings.Count(drawn, "Q\n"), strings.Count(drawn, "q\n"); pops != pushes {
		t.Errorf("%d states kept, %d restored", pushes, pops)
	}
}

// A program that did not write the PDF reads its letters and finds all fonts embedded.
func TestPDFReaders(t *testing.T) {
	for _, tool := range []string{"pdftotext", "pdffonts"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s of poppler-utils", tool)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	must.OK(t, WriteFigure(path, Figure{Title: "γ = 0.3, ≥ π", Panels: [][]Chart{{LineChart{XLabel: "round"}}}}))
	for _, ending := range []string{".pdf", "-column.pdf"} {
		text := string(must.Get(exec.Command("pdftotext", path+ending, "-").Output())(t))
		if !strings.Contains(text, "γ = 0.3, ≥ π") || !strings.Contains(text, "round") {
			t.Errorf("%s: text %q, want the title and the axis", ending, text)
		}
		fonts := strings.Split(strings.TrimSpace(string(must.Get(exec.Command("pdffonts", path+ending).Output())(t))), "\n")
		if len(fonts) != 3 || !regexp.MustCompile(` yes +(yes|no) +yes `).MatchString(fonts[2]) {
			t.Errorf("%s: fonts %q, want one, embedded", ending, fonts)
		}
	}
}
