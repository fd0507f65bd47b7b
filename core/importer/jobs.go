package importer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/schedule/when"
)

// jobsFile is where both gateways keep their jobs.
const jobsFile = "cron/jobs.json"

// otherJob is a job of another gateway.
type otherJob struct {
	name, schedule, zone, prompt, deliver string
	disabled                              bool
	// note is what to know about it when it is taken.
	note string
}

// jobs takes the jobs of the file name, which read makes out of what each of them is there.
func (p *Plan) jobs(name string, read func(tree) otherJob) {
	data, found := p.read(Job, name, maxConfig)
	if !found {
		return
	}
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("[")) { // a list alone
		data = slices.Concat([]byte(`{"jobs":`), data, []byte("}"))
	}
	doc, err := parseYAML(data) // JSON is YAML
	if err != nil {
		p.leave(Job, name, "cannot be parsed: "+err.Error())
		return
	}
	all, _ := doc.at("jobs").([]any)
	taken := map[string]bool{}
	for i, item := range all {
		one := tree{"job": item}.table("job")
		from := fmt.Sprint(name, " ", i+1)
		if one == nil {
			p.leave(Job, from, "is not a job")
			continue
		}
		j := read(one)
		if j.name != "" {
			from = name + " " + j.name
		}
		p.job(from, j, taken)
	}
}

// notInName is what a name of a job in the config does not have.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// job takes one job into the config, where it is valid and not there yet.
func (p *Plan) job(from string, j otherJob, taken map[string]bool) {
	if j.zone == "" {
		j.zone = "UTC"
	}
	zone, err := when.Zone(j.zone)
	var s when.Schedule
	if err == nil {
		s, err = when.Parse(j.schedule, zone)
	}
	switch {
	case j.disabled:
		p.leave(Job, from, "is disabled there")
		return
	case strings.TrimSpace(j.prompt) == "":
		p.leave(Job, from, "has no prompt for an agent")
		return
	case err != nil:
		p.leave(Job, from, err.Error())
		return
	case s.Once() && s.Next(time.Now(), time.Time{}).IsZero():
		p.leave(Job, from, "was due once, and that is over")
		return
	}
	base := strings.Trim(notInName.ReplaceAllString(strings.ToLower(j.name), "-"), "-")
	if base = base[:min(len(base), 40)]; base == "" {
		base = "job"
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprint(base, "-", n)
	}
	taken[name] = true
	to := "jobs." + name
	if config.Lookup(p.into.Text, "jobs", name) != nil {
		if config.Lookup(p.into.Text, "jobs", name, "prompt") == j.prompt {
			p.add(Job, from, to, There, "")
		} else {
			p.add(Job, from, to, Conflict, "the config has another job of this name")
		}
		return
	}
	values := []struct{ key, value string }{{"schedule", s.String()}, {"zone", j.zone}, {"prompt", j.prompt}, {"deliver", j.deliver}}
	for _, v := range values {
		if v.value != "" {
			p.settings = append(p.settings, config.Setting{Path: []string{"jobs", name, v.key}, Value: v.value})
		}
	}
	why := s.String() + " (" + j.zone + ")"
	if j.deliver == "" {
		why += "; its answers stay in its session: set " + to + ".deliver for a chat"
	}
	if j.note != "" {
		why += "; " + j.note
	}
	p.add(Job, from, to, Taken, why)
}

// chatOf is the session of a chat of Telegram by its id; empty: it is not known here.
func chatOf(platform, id string) string {
	id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(id), "telegram:"), "tg:")
	n, err := strconv.ParseInt(id, 10, 64)
	switch {
	case platform != "telegram" && platform != "tg" || err != nil || n == 0:
		return ""
	case n < 0:
		return "telegram:group:" + id
	}
	return "telegram:dm:" + id
}

// every is an interval as a schedule.
func every(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("every %dm", d/time.Minute)
	}
	return "every " + d.String()
}

// number is a number at a path; 0: there is none.
func (t tree) number(path ...string) float64 {
	switch v := t.at(path...).(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// off reports whether a switch at a path is off.
func (t tree) off(path ...string) bool { return t.at(path...) == false }

// clawJob reads a job of OpenClaw (docs.openclaw.ai, "Cron jobs").
func clawJob(t tree) otherJob {
	j := otherJob{name: t.text("name"), prompt: t.text("payload", "message"), zone: t.text("schedule", "tz"), disabled: t.off("enabled")}
	if j.name == "" {
		j.name = t.text("id")
	}
	if j.prompt == "" {
		j.prompt = t.text("payload", "text")
		j.note = "there it was an event of the main session, and here it has a session of its own"
	}
	switch t.text("schedule", "kind") {
	case "cron":
		j.schedule = t.text("schedule", "expr")
	case "every":
		j.schedule = every(time.Duration(t.number("schedule", "everyMs")) * time.Millisecond)
	case "at":
		j.schedule = "at " + t.text("schedule", "at")
		if ms := t.number("schedule", "atMs"); ms > 0 {
			j.schedule = "at " + time.UnixMilli(int64(ms)).UTC().Format(time.RFC3339)
		}
	}
	j.deliver = chatOf(t.text("delivery", "channel"), t.text("delivery", "to"))
	if j.deliver == "" {
		j.deliver = chatOf(t.text("payload", "channel"), t.text("payload", "to"))
	}
	return j
}

// hermesJob reads a job of Hermes (hermes-agent, cron/jobs.py). Its expressions go by the zone of the config, or of the machine.
func hermesJob(zone string) func(tree) otherJob {
	return func(t tree) otherJob {
		j := otherJob{name: t.text("name"), prompt: t.text("prompt"), zone: zone, disabled: t.off("enabled")}
		if j.name == "" {
			j.name = t.text("id")
		}
		switch t.text("schedule", "kind") {
		case "cron":
			j.schedule = t.text("schedule", "expr")
			if zone == "" {
				j.note = "it went by the clock of the machine there: set its zone"
			}
		case "interval":
			j.schedule = every(time.Duration(t.number("schedule", "minutes") * float64(time.Minute)))
		case "once":
			j.schedule = "at " + secondsOnly(t.text("schedule", "run_at"))
		}
		deliver := t.text("deliver")
		platform, id, _ := strings.Cut(deliver, ":")
		if deliver == "origin" {
			platform, id = t.text("origin", "platform"), t.text("origin", "chat_id")
		}
		j.deliver = chatOf(platform, id)
		return j
	}
}

// fraction is the part of a time that is less than a second.
var fraction = regexp.MustCompile(`\.\d+`)

func secondsOnly(at string) string { return fraction.ReplaceAllString(at, "") }
