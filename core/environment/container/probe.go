package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// askBound is the longest that a question to a daemon may take.
const askBound = 5 * time.Second

// program returns the first program whose daemon answers. It is asked once, and again after a failure.
func (e *Engine) program(ctx context.Context) (CommandLine, error) {
	e.mu.Lock()
	known := e.answered
	e.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var errs []error
	lacking := 0
	for _, p := range e.opts.Programs {
		rootless, err := answers(ctx, p)
		if err == nil {
			e.mu.Lock()
			e.answered, e.rootless = p, rootless
			e.mu.Unlock()
			return p, nil
		}
		if missingProgram(err) {
			lacking++
			continue
		}
		errs = append(errs, err)
	}
	if lacking == len(e.opts.Programs) {
		return nil, fmt.Errorf("install Docker or Podman, or choose another kind in the config: %w", &missingError{"docker or podman"})
	}
	return nil, fmt.Errorf("start the daemon, or let the gateway's user reach it: %w", errors.Join(errs...))
}

// named is the program with this name; the first, if there is none.
func (e *Engine) named(name string) CommandLine {
	for _, p := range e.opts.Programs {
		if p.Name() == name {
			return p
		}
	}
	return e.opts.Programs[0]
}

// answers asks a program's daemon about itself. rootless says that it is Docker's and runs as the gateway's user.
func answers(ctx context.Context, p CommandLine) (rootless bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	output, code, err := p.Run(ctx, "info", "--format", "{{json .}}")
	switch {
	case err != nil:
		return false, err
	case code != 0 || noDaemon(output):
		return false, errors.New(p.explain(output))
	}
	return p.Name() == Docker && strings.Contains(output, "name=rootless"), nil // SecurityOptions of docker info
}

// Check finds out whether environments can be made: whether the daemon answers, has their images, and whether their paths
// exist. It returns a sentence for each problem, with what to do. It makes nothing and pulls nothing.
func (e *Engine) Check(ctx context.Context, all ...Settings) (program string, problems []error) {
	p, err := e.program(ctx)
	if err != nil {
		return "", []error{err}
	}
	for _, v := range all {
		if path := v.missing(); path != "" {
			problems = append(problems, fmt.Errorf("environments.%s names %s, which does not exist: make it, or remove it from read and write", v.Name, path))
		}
		if err := e.checkImage(ctx, p, v); err != nil {
			problems = append(problems, fmt.Errorf("environments.%s: %w", v.Name, err))
		}
	}
	return p.Name(), problems
}

func (e *Engine) checkImage(ctx context.Context, p CommandLine, v Settings) error {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	output, code, err := p.Run(ctx, "image", "inspect", "--format", "{{.Id}}", v.Image)
	switch {
	case err != nil:
		return err
	case code != 0:
		return refusal(p, v.Image, output, code)
	}
	return nil
}

// refusal is why a call for an image failed, as a sentence that says what to do.
func refusal(p CommandLine, image, output string, code int) error {
	switch {
	case noImage(output):
		return fmt.Errorf("the image %s is not on this machine, and the gateway does not pull images: run `%s pull %s`", image, p.Name(), image)
	case code == 127 || strings.Contains(output, `exec: "sh"`):
		return fmt.Errorf("the image %s has no sh: use an image with sh, grep and sleep", image)
	}
	return fmt.Errorf("a container of the image %s could not be started: %s", image, p.explain(output))
}
