package faults

import "testing"

func TestAFaultHoldsForItsCallsAndAsOftenAsItShould(t *testing.T) {
	var s Set[int]
	s.Put("GET /a", 400, 2)
	s.Put("POST /", 500, 0)
	for i, want := range []int{400, 400, 0, 0} {
		if got, fails := s.Take("GET /a/b"); got != want || fails != (want != 0) {
			t.Errorf("call %d fails with %d, %t", i, got, fails)
		}
	}
	for range 5 {
		if got, fails := s.Take("POST /x"); got != 500 || !fails {
			t.Errorf("a call of a fault without an end: %d, %t", got, fails)
		}
	}
	if _, fails := s.Take("GET /b"); fails {
		t.Error("another call fails")
	}
	s.Heal()
	if _, fails := s.Take("POST /x"); fails {
		t.Error("a call fails after the end of all faults")
	}
}
