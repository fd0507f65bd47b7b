package operator

import (
	"context"
	"fmt"
	"slices"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// mostAssumed bounds the assumptions of one plan.
const mostAssumed = 100

// Plan implements ops.Console: the plan of a graceful stop as it would run now, or under assumptions.
func (op *Operator) Plan(_ context.Context, assume ...string) (ops.Plan, error) {
	if len(assume) > mostAssumed {
		return ops.Plan{}, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%d assumptions are too many: at most %d", len(assume), mostAssumed)}
	}
	load := shutdown.Load{}
	for _, v := range op.o.Table.Turns() {
		if v.Approval == "" && v.StalledAt.IsZero() { // the drain does not wait for the others
			load.Turns++
		}
	}
	plan, limit, load, err := shutdown.WhatIf(op.o.Lifecycle.Plan(), op.o.Lifecycle.Budget(), load, assume)
	if err != nil {
		return ops.Plan{}, err
	}
	var platforms []string
	for _, a := range op.o.Adapters.Rows() {
		platforms = append(platforms, a.Name)
	}
	for _, name := range load.Hangs {
		if !slices.Contains(platforms, name) {
			return ops.Plan{}, ops.UnknownName("platform", name, platforms)
		}
	}
	rows := plan.RowsUnder(limit, load)
	rows.If = assume
	return rows, nil
}
