package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Design: the columns of curve.csv and summary.csv are fixed, as other programs read them.
const (
	cellHeader  = "table,method,preset,data,net,availability,clients,alpha,"
	curveHeader = cellHeader +
		"seed,round,active,lr,train_loss,train_acc,test_loss,test_acc,elapsed_s,params,engine,precision,version"
	summaryHeader = cellHeader + "params,rounds,metric,n,reached,mean,std,by_seed,paper_mean,paper_std,status,error," +
		"version,engine,precision,device,numerics,revisions,data_checksum"
	benchHeader = "time,version,data,net,availability,clients,active,local_steps,batch,rounds,warmup,threads," +
		"engine,precision,device,client_steps_per_s,images_per_s,gflops,round_ms_median,round_ms_p10,round_ms_p90," +
		"client_step_ms,eval_images,eval_ms,peak_mem_mib,test_acc,seed" + benchConditions
	// These columns came later. A file without them is read as well.
	benchConditions = ",client_steps_per_s_p10,client_steps_per_s_p90,client_step_processor_ms,reference_gflops," +
		"reference_share,steal,others,load_average,card_users"
)

func testCell() Setup {
	return Setup{
		Table: "fedawe-2", Method: "fedawe", Preset: "code", Data: "cifar10", Net: "cnn-cifar10", Availability: "sine",
		Clients: 100, Alpha: files.Some(0.1),
	}
}

func testCurve() []CurveRow {
	base := CurveRow{
		Setup: testCell(), Seed: 3, Params: "gamma=0.2;period=40", Engine: "cpu-avx512",
		Precision: "fp32", Version: "v0.1",
	}
	first, second := base, base
	first.TrainLoss, first.TrainAcc, first.TestLoss, first.TestAcc = files.Some(2.3), files.Some(0.1),
		files.Some(2.31), files.Some(0.1012)
	second.Round, second.Active, second.LR, second.ElapsedSec = 10, 37, 0.07071067811865475, 12.5
	second.TestLoss, second.TestAcc = files.Some(2.1), files.Some(0.2345) // train not evaluated
	return []CurveRow{first, second}
}

func TestCurve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed-3", CurveFile)
	must.OK(t, WriteCurve(path, testCurve()))
	text := must.Get(os.ReadFile(path))(t)
	want := curveHeader + "\n" +
		"fedawe-2,fedawe,code,cifar10,cnn-cifar10,sine,100,0.1,3,0,0,0,2.3,0.1,2.31,0.1012,0," +
		"gamma=0.2;period=40,cpu-avx512,fp32,v0.1\n" +
		"fedawe-2,fedawe,code,cifar10,cnn-cifar10,sine,100,0.1,3,10,37,0.07071067811865475,,,2.1,0.2345,12.5," +
		"gamma=0.2;period=40,cpu-avx512,fp32,v0.1\n"
	if string(text) != want {
		t.Errorf("file:\ngot\n%s\nwant\n%s", text, want)
	}
	back, err := ReadCurve(path)
	if err != nil || !reflect.DeepEqual(back, testCurve()) {
		t.Errorf("read back: got %+v, %v, want %+v", back, err, testCurve())
	}
}

func TestCurveRowMetric(t *testing.T) {
	r := CurveRow{TrainLoss: files.Some(1), TrainAcc: files.Some(2), TestLoss: files.Some(3), TestAcc: files.Some(4)}
	for i, m := range []metrics.Metric{metrics.TrainLoss, metrics.TrainAcc, metrics.TestLoss, metrics.TestAcc} {
		if got := r.Metric(m); got != files.Some(float64(i+1)) {
			t.Errorf("%s: got %v, want %d", m, got, i+1)
		}
	}
	if got := r.Metric(metrics.RoundsTo25); got.Valid {
		t.Errorf("a metric that no round has: got %v, want none", got)
	}
}

func TestSummary(t *testing.T) {
	ok := SummaryRow{
		Setup: testCell(), Metric: metrics.TestAcc, Status: CellOK, Version: "v0.1", Engine: "cpu-avx2",
		Precision: "fp32", Device: "CPU, 2 cores",
	}
	ok.Estimate(stats.Estimate{Mean: 0.6, Std: files.Some(0.01), N: 3})
	ok.Paper(Printed{Mean: files.Some(0.635), Std: files.Some(0.02), N: 3})
	failed := ok
	failed.Alpha = files.Optional{}
	failed.N, failed.Mean, failed.Std, failed.PaperMean, failed.PaperStd = 0, files.Optional{}, files.Optional{},
		files.Optional{}, files.Optional{}
	failed.Status, failed.Error = CellFailed, "nets: loss NaN"

	path := filepath.Join(t.TempDir(), SummaryFile)
	must.OK(t, WriteSummary(path, []SummaryRow{ok, failed}))
	text := must.Get(os.ReadFile(path))(t)
	want := summaryHeader + "\n" +
		"fedawe-2,fedawe,code,cifar10,cnn-cifar10,sine,100,0.1,,0,test_acc,3,,0.6,0.01,,0.635,0.02,ok,," +
		"v0.1,cpu-avx2,fp32,\"CPU, 2 cores\",,,\n" +
		"fedawe-2,fedawe,code,cifar10,cnn-cifar10,sine,100,,,0,test_acc,0,,,,,,,failed,nets: loss NaN," +
		"v0.1,cpu-avx2,fp32,\"CPU, 2 cores\",,,\n"
	if string(text) != want {
		t.Errorf("file:\ngot\n%s\nwant\n%s", text, want)
	}
	back, err := ReadSummary(path)
	if err != nil || !reflect.DeepEqual(back, []SummaryRow{ok, failed}) {
		t.Errorf("read back: got %+v, %v", back, err)
	}
}

func TestSummaryStatus(t *testing.T) {
	path := filepath.Join(t.TempDir(), SummaryFile)
	err := WriteSummary(path, []SummaryRow{{Metric: metrics.TestAcc}})
	const statuses = "ok, failed, interrupted, running, refused, diverged, mixed, unverified"
	want := "results: " + path + `: row 1: column status: status "", want one of ` + statuses
	if err == nil || err.Error() != want {
		t.Errorf("row without status: got %v, want %s", err, want)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("row without status: a file was written, want none")
	}
	done := summaryHeader + "\n,,,,,,1,,,0,test_acc,1,,,,,,,done,,,,,,,,\n"
	_, err = files.ReadCSV[SummaryRow](strings.NewReader(done), "s.csv")
	want = `results: s.csv: line 2: column status: status "done", want one of ` + statuses
	if err == nil || err.Error() != want {
		t.Errorf("unknown status: got %v, want %s", err, want)
	}
}

func FuzzReadCurve(f *testing.F) {
	fuzzCSV(f, testCurve(), curveHeader+"\n",
		curveHeader+"\n\"a\r\rb\r\n\",,,,,,-1,nan,1,0x1p-2,2,Inf,-inf,1e-400,,,7,,,,\n",
		curveHeader+"\n,,,,,,1,,1,1,1,0x1p-2,-inf,,,,1e-400,\"a\r\rb\r\n\",,,\n",
		strings.Replace(curveHeader, "seed", "Seed", 1))
}
