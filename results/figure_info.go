package results

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"rollcall/internal/files"
)

// FigureSchema is the version of the format of [FigureInfo].
const FigureSchema = 1

// FigureInfo is the content of FIGURE.json, beside FIGURE.csv: how the figure was made, and how large it is in the
// paper. So its CSV files can be judged without the runs behind them. Where a paper does not print a size, the fields
// Paper… hold the suite's default [inferred].
type FigureInfo struct {
	Schema int    `json:"schema"` // set by [WriteFigureInfo]
	Figure string `json:"figure"` // its id: cafed-f1a
	Preset string `json:"preset"`
	// flags of the command that change what is shown, with their values; empty: none was given
	Settings map[string]string `json:"settings"`

	Trained bool `json:"trained"` // whether runs were trained; if not, the figure is computed
	Runs    int  `json:"runs"`    // finished runs behind the figure, one for each line and seed
	// runs that diverged, and are not in the figure
	Diverged int `json:"diverged"`

	Rounds       int      `json:"rounds"` // of the shortest run, or that are shown; 0: the figure shows no rounds
	PaperRounds  int      `json:"paper_rounds"`
	Seeds        []uint32 `json:"seeds"`
	PaperSeeds   int      `json:"paper_seeds"`
	Clients      []int    `json:"clients"` // each number once, ascending; empty: it is no setting of the figure
	PaperClients []int    `json:"paper_clients"`
	Methods      []string `json:"methods"` // of the lines, each once
	PaperMethods []string `json:"paper_methods"`

	// the checksum of each data set, see [DataInFile]; empty: no data set was read
	Data      map[string]string `json:"data"`
	PaperData []string          `json:"paper_data"`

	// of the runs, as in [RunInfo], each once and sorted; empty if nothing was trained, or if no run is kept
	Numerics  []string `json:"numerics"`
	Revisions []string `json:"revisions"`
	Version   string   `json:"version"` // of the program that drew the figure
}

// DataInFile returns what FIGURE.json says about data with this checksum. Of data that were generated from the seed it
// is the kind alone, as each seed has another checksum.
func DataInFile(checksum string) string {
	if kind, _, _ := strings.Cut(checksum, ":"); IsOfSeed(checksum) {
		return kind
	}
	return checksum
}

// WriteFigureInfo writes FIGURE.json atomically. Equal contents have equal bytes.
func WriteFigureInfo(path string, info FigureInfo) error {
	info.Schema = FigureSchema
	return files.WriteFile(path, func(w io.Writer) error {
		return files.WriteJSON(w, info)
	})
}

// ReadFigureInfo reads what [WriteFigureInfo] wrote.
func ReadFigureInfo(path string) (info FigureInfo, err error) {
	text, err := files.ReadText(path)
	if err != nil {
		return info, fmt.Errorf("results: %w", err)
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return FigureInfo{}, fmt.Errorf("results: %s: %w", path, err)
	}
	if info.Schema != FigureSchema {
		return FigureInfo{}, fmt.Errorf("results: %s: schema %d, want %d", path, info.Schema, FigureSchema)
	}
	return info, nil
}
