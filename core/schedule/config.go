package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/schedule/when"
	"gatewaytui/core/store"
)

// Definition is a job of the config, which is valid.
type Definition struct {
	Name, Schedule, Zone, Prompt, Agent, Deliver, Missed string
	Allow                                                []string
}

// Use puts the jobs of a config in force. It does no I/O: the scheduler writes them, at once if it runs.
func (b *Book) Use(all []Definition) {
	b.mu.Lock()
	b.wanted = all
	if all == nil {
		b.wanted = []Definition{}
	}
	b.mu.Unlock()
	b.nudge()
}

// apply writes the jobs of the config that Use put in force, and drops those of the config before that are not in it.
func (b *Book) apply(ctx context.Context, now time.Time) error {
	b.mu.Lock()
	wanted := b.wanted
	b.mu.Unlock()
	if wanted == nil || b.store == nil {
		return nil
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, d := range wanted {
		if err := b.applyOne(ctx, d, now); err != nil {
			return err
		}
	}
	for _, name := range b.names() {
		j, _ := b.get(name)
		if j.Source != FromConfig || slices.ContainsFunc(wanted, func(d Definition) bool { return d.Name == name }) {
			continue
		}
		if err := b.drop(ctx, name, "the config"); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(wanted) == len(b.wanted) && (len(wanted) == 0 || &wanted[0] == &b.wanted[0]) { // no other config came meanwhile
		b.wanted = nil
	}
	return nil
}

// applyOne writes one job of the config, if it is not as the store has it.
func (b *Book) applyOne(ctx context.Context, d Definition, now time.Time) error {
	j, found := b.get(d.Name)
	if found && j.Source != FromConfig {
		if err := b.rename(ctx, j); err != nil {
			return err
		}
		found = false
	}
	row := store.Job{Name: d.Name, Source: FromConfig, Made: now}
	if found {
		row = j.Job
	}
	again := row.Schedule != d.Schedule || row.Zone != d.Zone
	changed := again || row.Prompt != d.Prompt || row.Agent != d.Agent || row.Deliver != d.Deliver || row.Missed != d.Missed || !slices.Equal(row.Allow, d.Allow)
	if !changed {
		return nil
	}
	row.Schedule, row.Zone, row.Prompt, row.Agent, row.Deliver, row.Missed, row.Allow = d.Schedule, d.Zone, d.Prompt, d.Agent, d.Deliver, d.Missed, d.Allow
	if again {
		row.Made = now
		next := newJob(row)
		row.Next = next.next(now)
		if row.Next.IsZero() {
			row.LastResult, row.LastReason = string(ops.JobRunSkipped), "its time was over when the config had it first"
		}
	}
	if err := b.store.PutJob(ctx, row); err != nil {
		return err
	}
	b.put(row)
	return nil
}

// rename gives a job that a person made another name, because the config has a job with its name. The caller holds Book.one.
func (b *Book) rename(ctx context.Context, j job) error {
	row := j.Job
	for n := 2; ; n++ {
		row.Name = fmt.Sprint(j.Name, "-", n)
		if _, taken := b.get(row.Name); !taken {
			break
		}
	}
	if err := b.store.PutJob(ctx, row); err != nil {
		return err
	}
	b.put(row)
	b.o.Log.Warn("job renamed, because the config has its name", "event", ops.LogJob, "job", j.Name, "name", row.Name, "by", j.Owner)
	return b.drop(ctx, j.Name, "the config")
}

// names are the names of all jobs, in order.
func (b *Book) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]string, 0, len(b.jobs))
	for name := range b.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shown is a time as the clocks of a zone show it.
func shown(t time.Time, name string) string {
	zone, err := when.Zone(name)
	if err != nil {
		zone, name = time.UTC, "UTC"
	}
	return t.In(zone).Format("2006-01-02 15:04 ") + name
}
