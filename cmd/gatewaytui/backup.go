package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/host"
	"gatewaytui/core/instance"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/store"
	"gatewaytui/views/lines"
)

func backupFlags(f *pflag.FlagSet, r *request) {
	f.BoolVar(&r.Abort, "abort", false, "end the backup that is running; nothing of its file is kept")
	lockDirFlag(f, &r.lockDir)
}

// backupArguments wants FILE, or --abort and no FILE.
func backupArguments(cmd *cobra.Command, args []string) error {
	if abort, _ := cmd.Flags().GetBool("abort"); abort {
		return arguments()(cmd, args)
	}
	return arguments("FILE")(cmd, args)
}

// readBackup makes the path absolute: the gateway works in another folder.
func readBackup(_ *program, r *request, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var err error
	r.File, err = filepath.Abs(args[0])
	return err
}

const aborted = "the backup is aborted, and nothing of it is kept"

// backup has the gateway write the copy, and shows how far it is. Who interrupts it aborts it.
func (p *program) backup(ctx context.Context, g *remote.Gateway, r *request) error {
	if r.Abort {
		return p.carryOut(ctx, g, r)
	}
	req, err := g.Do(ctx, r.Command)
	if err != nil {
		return err
	}
	stop := p.showProgress(ctx, g)
	req, err = p.ended(ctx, g, req, aborted)
	stop()
	if o, ok := errors.AsType[*outcome](err); ok && o.code == exitInterrupted {
		_, _ = g.Do(ctx, ops.Command{Verb: ops.VerbBackup, Abort: true}) // one that has ended meanwhile needs none
	}
	if err != nil {
		return err
	}
	return p.showEnd(r, req)
}

// progressEvery is how often a person sees how far a backup is.
const progressEvery = time.Second

// showProgress shows who sits at a terminal how far the backup is, until the function that it returns is called.
func (p *program) showProgress(ctx context.Context, g *remote.Gateway) (stop func()) {
	if !p.asks || p.asJSON() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s, err := g.Snapshot(ctx)
				for _, task := range s.Background {
					if err == nil && task.Name == operator.BackupTask && task.Progress != "" {
						p.note("backup      %s", task.Progress)
					}
				}
			}
		}
	})
	return func() {
		cancel()
		showing.Wait()
	}
}

// backupDown makes the copy without a gateway: it holds the home's lock meanwhile, so that none starts.
func (p *program) backupDown(ctx context.Context, dir string, r *request) error {
	if r.Abort {
		return &outcome{exitNoGateway, &ops.Error{Code: ops.CodeUnavailable, Message: "no gateway runs here, and no backup", Hint: "gatewaytui backup FILE makes one"}}
	}
	lockDir, err := host.LockDir(r.lockDir)
	if err != nil {
		return err
	}
	home, err := instance.Open(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(home.Database()); err != nil {
		return &ops.Error{Code: ops.CodeNotFound, Message: dir + " has no database", Hint: "name the home with --home"}
	}
	if lockDir != "" {
		if err := home.LockIn(lockDir); err != nil {
			return err
		}
	}
	lock, err := home.Hold()
	if err != nil {
		return err
	}
	defer lock.Release() // its failure changes nothing of the copy
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err = store.Copy(ctx, home.Database(), r.File, func(written, of int64) {
		if p.asks && !p.asJSON() {
			p.note("backup      %s of at most %s", lines.Size(written), lines.Size(of))
		}
	})
	if ctx.Err() != nil && err != nil {
		return interrupted(aborted)
	}
	if err != nil {
		return err
	}
	result, err := operator.SealBackup(r.File)
	if err != nil {
		return err
	}
	p.show(result, func() { p.say("written to %s, %s, without a gateway", result.Path, lines.Size(result.Bytes)) })
	return nil
}
