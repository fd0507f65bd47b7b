package ops

import (
	"encoding/json"
	"reflect"
	"testing"
)

// The JSON of each payload is what scripts read; over the socket it comes back as the same struct.
func TestTheJSONOfAPayloadIsAsPromised(t *testing.T) {
	phase := Phase{Name: "drain", State: StepRunning, Items: []Item{}}
	item := Item{Kind: "turn", ID: "api:user:a", State: StepDone}
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range []struct {
		payload Payload
		want    string
		read    func(Event) (any, bool)
	}{
		{GatewayChange{By: "maria", State: StateDraining}, `{"by":"maria","state":"draining"}`, read[GatewayChange]},
		{GatewayChange{State: StateRunning}, `{"state":"running"}`, read[GatewayChange]},
		{MessageAccepted{Message: "m", Position: 2}, `{"message":"m","position":2}`, read[MessageAccepted]},
		{TurnChange{Turn: "t"}, `{"turn":"t"}`, read[TurnChange]},
		{TurnEnd{ElapsedMS: 7, State: "done", Turn: "t"}, `{"elapsed_ms":7,"state":"done","turn":"t"}`, read[TurnEnd]},
		{AdapterChange{Attempt: 3, Error: "refused", State: AdapterRetrying}, `{"attempt":3,"error":"refused","state":"retrying"}`, read[AdapterChange]},
		{AdapterChange{State: AdapterConnected}, `{"attempt":0,"state":"connected"}`, read[AdapterChange]},
		{ProcessChange{PID: 4711, Session: "api:user:a"}, `{"pid":4711,"session":"api:user:a"}`, read[ProcessChange]},
		{OperatorKill{}, `{"survivors":0}`, read[OperatorKill]},
		{ApprovalChange{ID: "7K3M9Q", Kind: InboxCommand, State: InboxWaiting}, `{"id":"7K3M9Q","kind":"command","state":"waiting"}`, read[ApprovalChange]},
		{
			ApprovalChange{By: "maria", ID: "7K3M9Q", Kind: InboxStop, Scope: ScopeOnce, State: InboxAllowed, Turn: "t"},
			`{"by":"maria","id":"7K3M9Q","kind":"stop","scope":"once","state":"allowed","turn":"t"}`, read[ApprovalChange],
		},
		{
			BudgetChange{Budget: "default", Limit: 10, Percent: 80, Turn: "t", Used: 8.5, Window: "day"},
			`{"budget":"default","limit":10,"percent":80,"renews_at":null,"turn":"t","used":8.5,"window":"day"}`, read[BudgetChange],
		},
		{ServerChange{State: ServerReady}, `{"state":"ready"}`, read[ServerChange]},
		{ServerChange{Error: "exit status 1", Session: "cli:local", State: ServerBackoff}, `{"error":"exit status 1","session":"cli:local","state":"backoff"}`, read[ServerChange]},
		{JobStart{By: "schedule", Session: "job:morning"}, `{"by":"schedule","session":"job:morning"}`, read[JobStart]},
		{JobEnd{ElapsedMS: 7, Result: JobRunDone, Session: "job:morning"}, `{"elapsed_ms":7,"result":"done","session":"job:morning"}`, read[JobEnd]},
		{JobEnd{Error: "no model", Result: JobRunFailed}, `{"elapsed_ms":0,"error":"no model","result":"failed","session":""}`, read[JobEnd]},
		{RequestChange{State: RequestDone, Verb: VerbKill}, `{"by":"","state":"done","verb":"process.kill"}`, read[RequestChange]},
		{PhaseChange{Blockers: []string{"turn:a"}, Phase: phase}, `{"blockers":["turn:a"],"phase":` + part(phase) + `}`, read[PhaseChange]},
		{ItemChange{Item: item, Phase: "drain"}, `{"item":` + part(item) + `,"phase":"drain"}`, read[ItemChange]},
		{ShutdownEnd{ElapsedMS: 9, ExitCode: 75, Outcome: "clean"}, `{"elapsed_ms":9,"exit_code":75,"outcome":"clean"}`, read[ShutdownEnd]},
		{Missed{Count: 12}, `{"count":12}`, read[Missed]},
	} {
		line := part(Event{Seq: 1, Type: "x", Data: tc.payload})
		if want := `{"seq":1,"at":null,"type":"x","subject":"","text":"","data":` + tc.want + `}`; line != want {
			t.Errorf("%T is %s on the wire, want %s", tc.payload, line, want)
		}
		var back Event
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Fatal(err)
		}
		if got, ok := tc.read(back); !ok || !reflect.DeepEqual(got, tc.payload) {
			t.Errorf("%s is read as %+v, %v", line, got, ok)
		}
		if again := part(back); again != line {
			t.Errorf("%s is written again as %s", line, again)
		}
	}
	var none Event
	if err := json.Unmarshal([]byte(`{"seq":1,"data":null}`), &none); err != nil || none.Data != nil || none.Seq != 1 {
		t.Errorf("an event without a payload is read as %+v, %v", none, err)
	}
	if _, ok := PayloadOf[TurnChange](Event{Data: Missed{Count: 1}}); ok {
		t.Error("a payload of another type is taken")
	}
}

func read[T Payload](ev Event) (any, bool) {
	p, ok := PayloadOf[T](ev)
	return p, ok
}
