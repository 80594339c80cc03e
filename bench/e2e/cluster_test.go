package e2e

// The manifests of docs/cluster run the program as their page says, on Kubernetes.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/bench/cli"
	"rollcall/datasets"
	"rollcall/internal/must"
)

// manifest is what the tests read of a claim, a pod or a job.
type manifest struct {
	file     string
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		AccessModes          []string // of a claim
		Completions          int
		CompletionMode       string
		BackoffLimitPerIndex *int
		PodFailurePolicy     struct{ Rules any }
		Template             struct{ Spec pod }
		pod
	}
}

type pod struct {
	RestartPolicy                 string
	ShareProcessNamespace         bool
	TerminationGracePeriodSeconds int
	SecurityContext               struct{ RunAsUser, RunAsGroup, FSGroup int }
	Containers                    []struct {
		Command, Args []string
		Resources     struct{ Limits map[string]any }
		VolumeMounts  []struct{ Name, MountPath string }
	}
	Volumes []struct {
		Name                  string
		PersistentVolumeClaim struct{ ClaimName string }
	}
}

// manifests returns the documents of docs/cluster of a kind, by name.
func manifests(t *testing.T, kind string) map[string]manifest {
	t.Helper()
	found := map[string]manifest{}
	for _, file := range must.Get(filepath.Glob("../../docs/cluster/*.yaml"))(t) {
		for d := yaml.NewDecoder(strings.NewReader(contents(t, file))); ; {
			var document any
			err := d.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			m := manifest{file: file}
			// By way of JSON, whose names of fields need no tags.
			if err := errors.Join(err, json.Unmarshal(must.Get(json.Marshal(document))(t), &m)); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if m.Kind == kind {
				found[m.Metadata.Name] = m
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("docs/cluster: no %s, want some", kind)
	}
	return found
}

// args returns the arguments of rollcall in the pod of an index, also where a shell writes them; nil: it runs another
// program.
func (p pod) args(t *testing.T, index int) []string {
	t.Helper()
	container := p.Containers[0]
	if container.Command == nil {
		return container.Args
	}
	line, isOurs := strings.CutPrefix(container.Command[len(container.Command)-1], "exec rollcall ")
	if !isOurs {
		return nil
	}
	cmd := exec.Command("sh", "-c", "printf '%s\\n' "+line)
	cmd.Env = []string{fmt.Sprint("JOB_COMPLETION_INDEX=", index)}
	return strings.Fields(string(must.Get(cmd.Output())(t)))
}

// flagOf returns the value of a flag of a command line, given or not.
func flagOf(t *testing.T, args []string, name string) string {
	t.Helper()
	cmd, rest, err := cli.Root().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || cmd.Flags().Lookup(name) == nil {
		t.Fatalf("%q: %v, want a command line with --%s", args, err, name)
	}
	return cmd.Flags().Lookup(name).Value.String()
}

// Pods run as the image's user, and keep what they write on volumes that are claimed; those that train have a card, all
// parts between them, and the time to end. Jobs ignore an interruption and a command to be repeated, and give up at a
// usage error.
func TestCluster(t *testing.T) {
	image := contents(t, "../../Dockerfile.cuda")
	of := func(pattern string) string { // what the image has
		m := regexp.MustCompile(pattern).FindStringSubmatch(image)
		if m == nil {
			t.Fatalf("Dockerfile.cuda: no %s, want it", pattern)
		}
		return m[1]
	}
	user, folder := of(`useradd .*--uid (\d+)`), of(`(?m)^WORKDIR (/rollcall)$`)
	data, kernels := of(`ROLLCALL_DATA=(\S+)`), of(`CUDA_CACHE_PATH=(\S+)`)
	claims, claimed := manifests(t, "PersistentVolumeClaim"), map[string]bool{}
	jobs, pods := manifests(t, "Job"), map[string]pod{}
	for name, job := range jobs {
		pods["job/"+name] = job.Spec.Template.Spec
	}
	for name, m := range manifests(t, "Pod") {
		pods["pod/"+name] = m.Spec.pod
	}
	var fetched, trained []string
	for name, p := range pods {
		t.Run(name, func(t *testing.T) {
			is := func(what string, got, want any) {
				t.Helper()
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			is("restartPolicy", p.RestartPolicy, "Never")
			is("user, group and fsGroup", p.SecurityContext, fmt.Sprintf("{%[1]s %[1]s %[1]s}", user))
			is("shareProcessNamespace, without which rollcall is process 1", p.ShareProcessNamespace, true)
			container := p.Containers[0]
			claim := map[string]string{}
			for _, v := range p.Volumes {
				claim[v.Name] = v.PersistentVolumeClaim.ClaimName
				claimed[claim[v.Name]] = true
				modes := claims[claim[v.Name]].Spec.AccessModes
				is("volume "+v.Name+": accessModes of its claim, which pods share", modes, []string{"ReadWriteMany"})
			}
			kept := func(file string) {
				t.Helper()
				for _, m := range container.VolumeMounts {
					if claim[m.Name] != "" && strings.HasPrefix(file+"/", m.MountPath+"/") {
						return
					}
				}
				t.Errorf("%s: on none of %v, want it on a volume", file, container.VolumeMounts)
			}
			args, cards := p.args(t, 0), container.Resources.Limits["nvidia.com/gpu"]
			if args == nil { // looks at what others have made
				kept(path.Join(folder, "out"))
				is("nvidia.com/gpu", cards, nil)
				return
			}
			kept(data)
			if args[0] == "data" {
				is("command", args[:2], []string{"data", "fetch"})
				is("nvidia.com/gpu", cards, nil)
				fetched = append(fetched, args[2])
				return
			}
			kept(kernels)
			out := flagOf(t, args, "out")
			if !path.IsAbs(out) {
				out = path.Join(folder, out)
			}
			kept(out)
			is("nvidia.com/gpu", cards, 1)
			is("--device, which fails without a card", flagOf(t, args, "device"), "cuda")
			is("--no-wait", flagOf(t, args, "no-wait"), true)
			grace := must.Get(time.ParseDuration(flagOf(t, args, "grace")))(t)
			if end := time.Duration(p.TerminationGracePeriodSeconds) * time.Second; end < grace+10*time.Second {
				t.Errorf("terminationGracePeriodSeconds: %v, want --grace %v and 10 s or more", end, grace)
			}
			trained = append(trained, strings.Trim(flagOf(t, args, "data"), "[]"))
			spec := jobs[strings.TrimPrefix(name, "job/")].Spec
			is("completionMode", spec.CompletionMode, "Indexed")
			if spec.BackoffLimitPerIndex == nil {
				t.Error("backoffLimitPerIndex: none, want a number")
			}
			for _, i := range []int{0, spec.Completions - 1} {
				is("--part", flagOf(t, p.args(t, i), "part"), fmt.Sprintf("%d/%d", i+1, spec.Completions))
			}
			is("podFailurePolicy", spec.PodFailurePolicy.Rules, []any{
				map[string]any{
					"action":          "Ignore",
					"onPodConditions": []any{map[string]any{"type": "DisruptionTarget", "status": "True"}},
				},
				map[string]any{
					"action":      "Ignore",
					"onExitCodes": map[string]any{"operator": "In", "values": []any{statusTimeUp, statusInterrupted}},
				},
				map[string]any{
					"action":      "FailJob",
					"onExitCodes": map[string]any{"operator": "In", "values": []any{statusUsage}},
				},
			})
			dir := t.TempDir()
			writeTinyData(t, dir)
			t.Setenv("ROLLCALL_DATA", filepath.Join(dir, "data"))
			pass(t, append(docsSmall(args), "--out", dir)...)
			only(t, dir, "fedawe-2/*/seed-*/curve.csv")
		})
	}
	if len(trained) != 1 || !slices.Equal(trained, fetched) || !slices.Contains(datasets.Names(), trained[0]) {
		t.Errorf("trained: %q, fetched: %q, want one and the same", trained, fetched)
	}
	for name := range claims {
		if !claimed[name] {
			t.Errorf("claim %s: no pod has it, want it used", name)
		}
	}
	// The page and the comments of the manifests apply every one, and name what they make.
	text := contents(t, "../../docs/cluster.md")
	for kind, list := range map[string]map[string]manifest{"Job": jobs, "Pod": manifests(t, "Pod"), "claim": claims} {
		for name, m := range list {
			file := strings.TrimPrefix(filepath.ToSlash(m.file), "../../")
			if apply := "kubectl apply -f " + file; !strings.Contains(text, apply) {
				t.Errorf("docs/cluster.md: no %s, want it for %s %s", apply, kind, name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`\b(?:job|pod)/\w[\w-]*\w|kubectl cp (\w+):`).FindAllStringSubmatch(text, -1) {
		name := m[0]
		if m[1] != "" {
			name = "pod/" + m[1]
		}
		if _, made := pods[name]; !made {
			t.Errorf("docs/cluster.md: %s: no manifest makes it", name)
		}
	}
}

// schemaScript reads manifests and prints as JSON what is wrong with them by the schemas of the first Kubernetes that
// has all their fields and of the newest known, which take no field that they do not know.
const schemaScript = `
import json, sys, yaml, kubernetes_validate as k
wrong = []
for d in yaml.safe_load_all(sys.stdin):
    for version in ("1.29", k.latest_version()):
        try:
            k.validate(d, version, strict=True)
        except k.ValidationError as e:
            wrong.append("%s: %s: %s: %s" % (version, d["kind"], ".".join(map(str, e.path)), e.message))
json.dump(wrong, sys.stdout)
`

// The manifests are what the schemas of Kubernetes want, with no field that they do not know, and of the right types.
func TestClusterSchema(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import kubernetes_validate, yaml").CombinedOutput(); err != nil {
		t.Skipf("no python3 with kubernetes_validate here: pip install -r .ci/schemas.txt: %v %s",
			err, bytes.TrimSpace(out))
	}
	wrong := func(text string) (wrong []string) {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", schemaScript)
		cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
		out := must.Get(cmd.Output())(t)
		must.OK(t, json.Unmarshal(out, &wrong))
		return wrong
	}
	for _, file := range must.Get(filepath.Glob("../../docs/cluster/*.yaml"))(t) {
		for _, w := range wrong(contents(t, file)) {
			t.Errorf("%s: %s", file, w)
		}
	}
	job := contents(t, "../../docs/cluster/job.yaml")
	for old, planted := range map[string]string{
		"backoffLimitPerIndex:": "backoffLimits:", // a field that there is not
		"completions: 8":        "completions: eight",
		`status: "True"`:        "status: 1",
	} {
		if text := strings.Replace(job, old, planted, 1); text == job || len(wrong(text)) != 2 {
			t.Errorf("job.yaml with %q: %q, want it wrong by both schemas", planted, wrong(text))
		}
	}
}
