package container

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Start starts a container and waits until it is ready. It returns when ctx ends. What a failed start may have made is
// removed, in the background if that takes longer. The error is one sentence that says what to do.
func (e *Engine) Start(ctx context.Context, v Settings, owner Owner) (*Container, error) {
	program, err := e.program(ctx)
	if err != nil {
		return nil, err
	}
	c := e.add(program, v, owner)
	c.record(ctx, false)
	c.attached, err = program.Attach(ctx, c.name, c.runArgs()...)
	if err != nil {
		c.gone(ctx)
		return nil, fmt.Errorf("start container %s: %w", c.name, err)
	}
	if err := c.attached.Hear(ctx, "ready"); err != nil {
		return nil, c.failed(ctx, err)
	}
	c.record(ctx, true)
	c.set(stateReady, "")
	return c, nil
}

// failed ends a start that did not succeed, and returns why it did not.
func (c *Container) failed(ctx context.Context, err error) error {
	if code, over := c.attached.Exited(); over {
		err = refusal(c.program, c.settings.Image, c.attached.Output(), code)
		if removed := c.Close(ctx); removed != nil {
			c.engine.log.Warn("container may be left", "container", c.name, "error", removed.Error())
		}
		c.release()
		return err
	}
	c.engine.mu.Lock()
	c.unsure, c.held = true, false
	c.engine.mu.Unlock()
	c.attached.End(context.WithoutCancel(ctx)) // bounded; the container, if there is one, ends with its input
	c.abandon(errCutOff)
	return fmt.Errorf("start container %s of image %s: %s did not answer: %w", c.name, c.settings.Image, c.program.Name(), err)
}

// runArgs are the arguments that make and start the container.
func (c *Container) runArgs() []string {
	e, v := c.engine, c.settings
	uid, gid := e.opts.UID, e.opts.GID
	e.mu.Lock()
	if e.rootless {
		uid, gid = 0, 0 // the gateway's user, on this machine
	}
	e.mu.Unlock()
	args := []string{
		"run", "--interactive", "--rm", "--pull", "never", "--init", "--name", c.name,
		"--label", labelHome + "=" + e.opts.HomeID, "--label", labelLife + "=" + e.opts.Life, "--label", labelSession + "=" + c.owner.Session,
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none",
		"--user", strconv.Itoa(uid) + ":" + strconv.Itoa(gid), "--workdir", c.owner.Work,
		"--tmpfs", runDir + ":rw,noexec,nosuid,nodev,mode=1777,size=1m",
	}
	if c.program.Name() == Podman && e.opts.UID != 0 {
		args = append(args, "--userns", "keep-id") // else its user is one that may not write the work folder
	}
	if !v.Network {
		args = append(args, "--network", "none")
	}
	if v.Memory > 0 {
		limit := strconv.FormatUint(v.Memory, 10)
		args = append(args, "--memory", limit, "--memory-swap", limit)
	}
	if v.PIDs > 0 {
		args = append(args, "--pids-limit", strconv.FormatUint(v.PIDs, 10))
	}
	if v.CPUs > 0 {
		args = append(args, "--cpus", strconv.FormatFloat(v.CPUs, 'f', -1, 64))
	}
	args = append(args, "--mount", mount(c.owner.Work, false), "--mount", mount(c.owner.Home, false))
	for _, path := range v.Write {
		args = append(args, "--mount", mount(path, false))
	}
	for _, path := range v.Read {
		args = append(args, "--mount", mount(path, true))
	}
	grace := strconv.Itoa(int(e.opts.Grace / (100 * time.Millisecond)))
	return append(args, "--entrypoint", "sh", v.Image, "-c", keeper, "gatewaytui", runDir, c.name+"/", grace)
}

// Labels of containers.
const (
	labelHome    = "gatewaytui.home"
	labelLife    = "gatewaytui.life"
	labelSession = "gatewaytui.session"
)

// mount is the value of --mount for a path that has the same name inside. It is a line of CSV, so that a path may have a
// comma.
func mount(path string, readOnly bool) string {
	fields := []string{"type=bind", "source=" + path, "target=" + path}
	if readOnly {
		fields = append(fields, "readonly")
	}
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	_ = w.Write(fields) // into memory
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

// missing is the first path of v that does not exist; empty: all do. The program would refuse the container with a text of
// its own.
func (v Settings) missing() string {
	for _, path := range append(append([]string{}, v.Read...), v.Write...) {
		if _, err := os.Stat(path); err != nil {
			return path
		}
	}
	return ""
}
