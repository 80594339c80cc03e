package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestFigureInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cafed-f1b.json")
	info := FigureInfo{
		Figure: "cafed-f1b", Preset: "paper", Settings: map[string]string{"seeds": "1,2", "data": "mnist"},
		Trained: true, Runs: 10, Rounds: 3, PaperRounds: 200, Seeds: []uint32{1, 2}, PaperSeeds: 10, Clients: []int{4},
		PaperClients: []int{100}, Methods: []string{"ca-fed"}, PaperMethods: []string{"ca-fed", "adafed"},
		Data:      map[string]string{"mnist": DataInFile(OfFiles("0a")), "leaf": DataInFile(OfSeed("0b"))},
		PaperData: []string{"mnist"}, Numerics: []string{"cpu-fp32"}, Revisions: []string{"1.1.1.1.1"}, Version: "v1",
	}
	var texts [2]string
	for i := range texts {
		must.OK(t, WriteFigureInfo(path, info))
		text := must.Get(os.ReadFile(path))(t)
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		t.Error("written twice: other bytes")
	}
	for _, want := range []string{
		`"mnist": "sha256:0a"`, `"leaf": "seed-sha256"`, `"paper_rounds": 200`, `"schema": 1`,
	} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("%s, want %s in it", texts[0], want)
		}
	}
	back, err := ReadFigureInfo(path)
	info.Schema = FigureSchema
	if err != nil || !reflect.DeepEqual(back, info) {
		t.Errorf("read back %+v, %v, want %+v", back, err, info)
	}
	must.OK(t, os.WriteFile(path, []byte("\ufeff"+texts[0]), 0o600))
	if back, err := ReadFigureInfo(path); err != nil || !reflect.DeepEqual(back, info) {
		t.Errorf("with a byte order mark: %+v, %v, want %+v", back, err, info)
	}
	for text, want := range map[string]string{
		"\xff\xfe{\x00": "UTF-16, want UTF-8",
		strings.Replace(texts[0], `"schema": 1`, `"schema": 2`, 1): "schema 2, want 1",
		"{": "unexpected end",
	} {
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := ReadFigureInfo(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%v, want the file and %q", err, want)
		}
	}
}
