package e2e

// The files of docs/nightly do what they are there for: each is run as GitHub, GitLab, systemd or cron runs it, command
// by command, in a folder that has of a checkout what a night needs.

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/bench/nightly"
	"rollcall/internal/must"
	"rollcall/results/track"
)

const nightlyFolder = "../../docs/nightly/"

// tinyNights is the variable under which the program measures nights of [tinySuite].
const tinyNights = "ROLLCALL_TEST_TINY_NIGHTS"

// tinySuite is a night of a second, with all that a net has.
func tinySuite() nightly.Suite {
	return nightly.Suite{
		Data: []string{"cifar10"}, Clients: 1, Steps: 1, Batch: 1, Train: 1, Test: 1, Passes: 1,
		Samples: track.LeastSamples,
	}
}

// nightlyHost is a machine with a checkout and nothing else, whose nights are tiny.
type nightlyHost struct {
	folder  string
	webhook string // an address
	posts   atomic.Int64
}

func newNightlyHost(t *testing.T) *nightlyHost {
	t.Helper()
	h := &nightlyHost{folder: t.TempDir()}
	for _, name := range []string{"checkout/bin", "home", "state", "etc", "collector"} {
		must.OK(t, os.MkdirAll(h.path(name), 0o777))
	}
	must.OK(t, os.WriteFile(h.path("checkout/Makefile"), []byte(contents(t, "../../Makefile")), 0o666))
	must.OK(t, os.Symlink(must.Get(exec.LookPath("rollcall"))(t), h.path("checkout/bin/rollcall")))
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { h.posts.Add(1) }))
	t.Cleanup(server.Close)
	h.webhook = server.URL
	must.OK(t, os.WriteFile(h.path("etc/webhook.env"), []byte("ROLLCALL_WEBHOOK="+server.URL+"\n"), 0o600))
	return h
}

func (h *nightlyHost) path(name string) string { return filepath.Join(h.folder, name) }

// file returns a file of docs/nightly, with the folders of this host in place of the real ones.
func (h *nightlyHost) file(t *testing.T, name string) string {
	t.Helper()
	return strings.NewReplacer("/srv/rollcall", h.path("checkout"), "/etc/rollcall", h.path("etc")).
		Replace(contents(t, nightlyFolder+name))
}

// run runs a command in the checkout, with the variables that it is given and few others, and returns what it printed
// and its status. It finds no card, and make builds nothing: its go is true(1).
func (h *nightlyHost) run(t *testing.T, env map[string]string, name string, args ...string) (said string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = h.path("checkout")
	all := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": h.path("home"), "GO": "true", tinyNights: "1", "CUDA_VISIBLE_DEVICES": "",
		"HTTP_PROXY": os.Getenv("HTTP_PROXY"), "HTTPS_PROXY": os.Getenv("HTTPS_PROXY"),
	}
	maps.Copy(all, env)
	for key, value := range all {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	t.Logf("%s %q: %v\n%s", name, args, cmd.ProcessState, out)
	return string(out), cmd.ProcessState.ExitCode()
}

// kept checks that what a job keeps is there, and not empty.
func (h *nightlyHost) kept(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = h.path(filepath.Join("checkout", path))
		}
		if files, err := filepath.Glob(path + "/*"); err == nil && len(files) > 0 {
			continue
		}
		if text, err := os.ReadFile(path); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v, want what the job keeps", path, len(text), err)
		}
	}
}

// history returns the history in a folder.
func (h *nightlyHost) history(t *testing.T, folder string) *track.History {
	t.Helper()
	all, bad := track.ReadFolder(h.path(folder))
	if len(all) != 1 || len(bad) > 0 {
		t.Fatalf("%s: %d histories, %v, want one", folder, len(all), bad)
	}
	return all[0]
}

// slower rewrites a history of one night: that night comes after many that were ten times as fast, and two like it.
func (h *nightlyHost) slower(t *testing.T, folder string) {
	t.Helper()
	old := h.history(t, folder)
	must.OK(t, os.Remove(old.Path))
	w := must.Get(track.NewWriter(h.path(folder)))(t)
	defer w.Close()
	n := old.Nights[0]
	const nights = 40
	for i := range nights {
		night := n
		night.Time = n.Time.Add(time.Duration(i-nights) * 24 * time.Hour)
		night.Run = track.RunName(night.Time)
		if i < nights-2 {
			night.Values = slices.Clone(n.Values)
			for m := range night.Values {
				v := &night.Values[m]
				v.Wall, v.Processor = tenth(v.Wall), tenth(v.Processor)
			}
		}
		must.OK(t, w.Append(old.Machine, night))
	}
}

func tenth(x []float64) (tenth []float64) {
	for _, x := range x {
		tenth = append(tenth, x/10)
	}
	return tenth
}

// Each file measures a night, which its history keeps outside of the checkout and the webhook is told of; the job fails
// if the night fails, and keeps its report all the same.
func TestNightly(t *testing.T) {
	if testing.Short() {
		t.Skip("nights take seconds")
	}
	for name, flow := range map[string]struct {
		run     func(t *testing.T, h *nightlyHost) (failed bool)
		history string
	}{
		"github":  {githubNight, "home/rollcall-history"},
		"gitlab":  {gitlabNight, "home/rollcall-history"},
		"systemd": {systemdNight, "state/history"},
		"cron":    {cronNight, "home/rollcall-history"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newNightlyHost(t)
			if flow.run(t, h) {
				t.Error("a first night: failed, want no regression")
			}
			first := h.history(t, flow.history)
			if len(first.Nights) != 1 || h.posts.Load() != 1 {
				t.Errorf("%d nights in the history, %d posts, want 1, 1", len(first.Nights), h.posts.Load())
			}
			if name != "github" { // a night less to be measured: no night can be appended to this history
				must.OK(t, os.WriteFile(first.Path, []byte("a,b\n"), 0o666))
				if !flow.run(t, h) {
					t.Error("a history that is no history: did not fail, want it to")
				}
				return
			}
			h.slower(t, flow.history)
			if !flow.run(t, h) {
				t.Error("a regression: did not fail, want it to")
			}
			if n := len(h.history(t, flow.history).Nights); n != 41 || h.posts.Load() != 2 {
				t.Errorf("a regression: %d nights in the history, %d posts, want 41, 2", n, h.posts.Load())
			}
		})
	}
}

// decode reads a document whose fields are all known: a field that is new here may have a say in what is run.
func decode(t *testing.T, text string, document any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	must.OK(t, d.Decode(document))
}

// githubNight runs the workflow as GitHub's runner does: bash -e for each step, which is left out after a failure
// unless it is to run always.
func githubNight(t *testing.T, h *nightlyHost) (failed bool) {
	var workflow struct {
		Name, Concurrency string
		On                any
		Permissions       map[string]string
		Jobs              map[string]struct {
			RunsOn  []string `yaml:"runs-on"`
			Timeout int      `yaml:"timeout-minutes"`
			Steps   []struct {
				Uses, If, Run string
				Env           map[string]string
				With          struct {
					FetchDepth    *int   `yaml:"fetch-depth"`
					GoVersionFile string `yaml:"go-version-file"`
					Cache         *bool
					Name, Path    string
				}
			}
		}
	}
	decode(t, h.file(t, "github.yml"), &workflow)
	for _, job := range workflow.Jobs {
		for i, step := range job.Steps {
			action, _, _ := strings.Cut(step.Uses, "@")
			switch {
			case step.If != "" && step.If != "always()":
				t.Fatalf("if: %s: want always() or nothing", step.If)
			case failed && step.If == "":
			case action == "actions/upload-artifact":
				h.kept(t, step.With.Path)
			case action != "":
			default:
				summary := h.path(fmt.Sprintf("summary-%d.md", i))
				env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
				for key, value := range step.Env {
					env[key] = strings.ReplaceAll(value, "${{ secrets.ROLLCALL_WEBHOOK }}", h.webhook)
				}
				said, status := h.run(t, env, "bash", "-e", "-c", step.Run)
				if strings.Contains(step.Run, "--github") {
					h.kept(t, summary)
					if strings.Contains(said, "\n::error ") != (status != 0) {
						t.Errorf("status %d: %s\nwant annotations at a regression", status, said)
					}
				}
				failed = failed || status != 0
			}
		}
	}
	return failed
}

// gitlabNight runs the job as GitLab's shell executor does: the script in one bash, and after_script in another, whose
// status does not matter to GitLab, but does here.
func gitlabNight(t *testing.T, h *nightlyHost) (failed bool) {
	var jobs map[string]struct {
		Rules         []struct{ If string }
		Tags          []string
		Timeout       string
		ResourceGroup string `yaml:"resource_group"`
		Variables     map[string]string
		Script        []string
		AfterScript   []string `yaml:"after_script"`
		Artifacts     struct {
			When  string
			Paths []string
		}
	}
	decode(t, h.file(t, "gitlab.yml"), &jobs)
	for _, job := range jobs {
		env := maps.Clone(job.Variables)
		env["ROLLCALL_WEBHOOK"] = h.webhook
		bash := func(script []string) bool {
			_, status := h.run(t, env, "bash", "-eo", "pipefail", "-c", strings.Join(script, "\n"))
			return status != 0
		}
		failed = bash(job.Script)
		if bash(job.AfterScript) && !failed { // of a broken history there is no report
			t.Error("after_script: failed, want it to pass")
		}
		if !failed || job.Artifacts.When == "always" {
			h.kept(t, job.Artifacts.Paths...)
		}
	}
	return failed
}

// option is a line of a unit. Some are comments that users may take.
var option = regexp.MustCompile(`(?m)^#?([A-Z]\w+)=(.*)$`)

// units writes the units of systemd with all their options, and returns their paths and what the options are.
func (h *nightlyHost) units(t *testing.T) (paths []string, options map[string]string) {
	t.Helper()
	options = map[string]string{}
	for _, name := range []string{"rollcall-nightly.service", "rollcall-nightly.timer"} {
		text := option.ReplaceAllString(h.file(t, name), "$1=$2")
		for _, m := range option.FindAllStringSubmatch(text, -1) {
			if _, twice := options[m[1]]; twice && m[1] != "Description" {
				t.Errorf("%s: %s is there twice, want it once", name, m[1])
			}
			options[m[1]] = m[2]
		}
		here := strings.NewReplacer( // the folders that the service may write to
			"/var/lib/"+options["StateDirectory"]+"/", h.path("state")+"/",
			options["ReadWritePaths"], h.path("collector"),
		)
		for key, value := range options {
			options[key] = here.Replace(value)
		}
		paths = append(paths, h.path(name))
		must.OK(t, os.WriteFile(h.path(name), []byte(here.Replace(text)), 0o666))
	}
	return paths, options
}

// systemdNight runs the commands of the service.
func systemdNight(t *testing.T, h *nightlyHost) (failed bool) {
	_, options := h.units(t)
	if got := options["WorkingDirectory"]; got != h.path("checkout") {
		t.Errorf("WorkingDirectory=%s, want the checkout", got)
	}
	env := map[string]string{}
	file := contents(t, strings.TrimPrefix(options["EnvironmentFile"], "-"))
	for line := range strings.Lines(options["Environment"] + "\n" + file) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[key] = value
	}
	start, after := strings.Fields(options["ExecStart"]), strings.Fields(options["ExecStopPost"])
	for _, word := range slices.Concat(start, after) {
		if filepath.IsAbs(word) && !strings.HasPrefix(word, h.folder) {
			t.Fatalf("%s: want it in StateDirectory, ReadWritePaths or WorkingDirectory", word)
		}
	}
	_, status := h.run(t, env, start[0], start[1:]...)
	if _, after := h.run(t, env, after[0], after[1:]...); after != 0 && status == 0 { // there is no broken history
		t.Errorf("ExecStopPost: status %d, want 0", after)
	}
	h.kept(t, h.path("collector/rollcall.prom"))
	return status != 0
}

// systemd finds nothing wrong with the units, and would find it.
func TestNightlyUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here: apt-get install systemd")
	}
	paths, _ := newNightlyHost(t).units(t)
	verify := func() string {
		// It says with status 0 that it ignores an option.
		out, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no"}, paths...)...).
			CombinedOutput()
		if err != nil && len(out) == 0 {
			return err.Error()
		}
		return string(out)
	}
	if wrong := verify(); wrong != "" {
		t.Errorf("systemd-analyze verify: %s", wrong)
	}
	for i, right := range []string{"NoNewPrivileges=", "Persistent=true"} {
		text := contents(t, paths[i])
		must.OK(t, os.WriteFile(paths[i], []byte(strings.Replace(text, right, "No"+right, 1)), 0o666))
		if wrong := verify(); !strings.Contains(wrong, "No"+right[:5]) {
			t.Errorf("systemd-analyze verify: %q, want No%s in it", wrong, right)
		}
		must.OK(t, os.WriteFile(paths[i], []byte(text), 0o666))
	}
}

// cronNight runs the line of the crontab as cron does: with sh and few variables. A night has failed if it has printed
// something, which cron mails.
func cronNight(t *testing.T, h *nightlyHost) (failed bool) {
	line := regexp.MustCompile(`(?m)^\d+ \d+ \* \* \* +(.*)$`).FindStringSubmatch(h.file(t, "crontab"))
	if line == nil || strings.Contains(line[1], "%") { // which cron takes for the end of a line
		t.Fatalf("crontab: %q, want a line for every night, without %%", line)
	}
	said, _ := h.run(t, map[string]string{"PATH": "/usr/bin:/bin"}, "/bin/sh", "-c", line[1])
	return said != ""
}

// The workflows are what the schemas of GitHub and GitLab want.
func TestNightlySchema(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import check_jsonschema").CombinedOutput(); err != nil {
		t.Skipf("no python3 with check_jsonschema here: pip install -r .ci/schemas.txt: %v %s",
			err, bytes.TrimSpace(out))
	}
	check := func(schema, text string) ([]byte, error) {
		file := filepath.Join(t.TempDir(), "nightly.yml")
		must.OK(t, os.WriteFile(file, []byte(text), 0o666))
		return exec.CommandContext(t.Context(), "python3", "-m", "check_jsonschema", "--builtin-schema",
			"vendor."+schema, file).CombinedOutput()
	}
	for name, schema := range map[string]string{"github.yml": "github-workflows", "gitlab.yml": "gitlab-ci"} {
		text := contents(t, nightlyFolder+name)
		if out, err := check(schema, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		planted := strings.NewReplacer("timeout", "time-out").Replace(text)
		if out, err := check(schema, planted); planted == text || err == nil {
			t.Errorf("%s with an unknown field: no error, want one\n%s", name, out)
		}
	}
}
