package compare

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
)

// Every setting of any run has a column, those in params alone too, and only complete runs have numbers.
func TestWriteWide(t *testing.T) {
	complete := resultstest.Complete("sweep", "mifa", 3, 0.1, 0.2, 0.4)
	complete.Params, complete.Version = "lr=0.05;memory=raw", "v1"
	killed := resultstest.SmallRun{Table: "sweep", Method: "fedau", Seed: 4, Acc: []float64{0.1, 0.3}, Rounds: 9}
	killed.Params = "fedau-cutoff=7;text==1+1;status=x"
	failed := resultstest.SmallRun{
		Table: "sweep", Method: "fedau", Seed: 5, Acc: []float64{0.1}, Rounds: 9, Status: results.RunInterrupted,
	}
	runs := resultstest.Runs(t, complete, killed, failed)
	reaching, _ := metrics.Reaching("20")
	chosen := []metrics.Metric{metrics.TestAcc, metrics.TestAccFinal, reaching}
	var out bytes.Buffer
	must.OK(t, WriteWide(&out, runs, chosen, (*results.Run).Status))
	records := must.Get(csv.NewReader(&out).ReadAll())(t)
	const want = "table,method,preset,data,net,availability,clients,alpha,seed,status,rounds_done,elapsed_s,engine," +
		"precision,device,numerics,revisions,data_checksum,version,folder,test_acc,test_acc_final,rounds_to_acc_20," +
		"cutoff,eval-every,eval-last,eval-train,fedau-cutoff,gamma,low,lr,memory,period,rounds,settings.status,text"
	if got := strings.Join(records[0], ","); got != want {
		t.Errorf("columns\n%s\nwant\n%s", got, want)
	}
	rows := map[string]map[string]string{} // by status
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows[row["status"]] = row
	}
	if len(records) != 4 || len(rows) != 3 {
		t.Fatalf("%d rows of %d statuses, want 3 of 3", len(records)-1, len(rows))
	}
	for _, c := range []struct{ status, column, want string }{
		{"complete", "method", "mifa"},
		{"complete", "seed", "3"},
		{"complete", "version", "v1"},
		{"complete", "numerics", "cpu-fp32"},
		{"complete", "device", "a machine"},
		{"complete", "rounds_done", "2"},
		{"complete", "lr", "0.05"},
		{"complete", "memory", "raw"},
		{"complete", "eval-train", "true"},
		{"complete", "fedau-cutoff", ""},
		{"complete", "test_acc", "0.30000000000000004"}, // of rounds 1 and 2
		{"complete", "test_acc_final", "0.4"},
		{"complete", "rounds_to_acc_20", "1"},
		{"unfinished", "test_acc_final", ""},
		{"unfinished", "rounds_done", "1"},
		{"unfinished", "fedau-cutoff", "7"},
		{"unfinished", "settings.status", "x"},
		{"unfinished", "text", "'=1+1"}, // which a spreadsheet would compute
		{"unfinished", "rounds", ""},
		{"unfinished", "numerics", ""},
		{"interrupted", "test_acc", ""},
		{"interrupted", "rounds", "9"},
	} {
		if got := rows[c.status][c.column]; got != c.want {
			t.Errorf("%s: %s %q, want %q", c.status, c.column, got, c.want)
		}
	}
}
