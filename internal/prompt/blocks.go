package prompt

// The names of the blocks (api 4).
const (
	blockRole             = "role"
	blockCurrent          = "current_message"
	blockRecent           = "recent_messages"
	blockSafety           = "safety"
	blockNow              = "now"
	blockFoundation       = "foundation_memories"
	blockActivity         = "recent_activity"
	blockLoops            = "open_loops"
	blockGoals            = "goals"
	blockRelevantMemories = "relevant_memories"
	blockMessages         = "relevant_messages"
	blockThread           = "thread_history"
	blockProfile          = "profile"
	blockEngagement       = "engagement"
	blockUserSummary      = "user_summary"
	blockWins             = "wins"
	blockSpine            = "spine"
	blockLatest           = "session_summary"
	blockSeed             = "seed"
	blockState            = "session_state"
	blockSessions         = "session_summaries"
	blockExpertise        = "expertise"
	blockInstruction      = "instruction"
)

// chooser picks a block's candidates, most valuable first. What its cap or its rules keep out it returns too, marked
// so with the reason, for the manifest.
type chooser func(v *view, s *Slot) []*entry

// choosers is the registry of blocks: to add one is to add an entry here, and a slot to the recipes that tell it.
var choosers = map[string]chooser{
	blockRole:             chooseRole,
	blockCurrent:          chooseCurrent,
	blockRecent:           chooseRecent,
	blockSafety:           chooseSafety,
	blockNow:              chooseNow,
	blockFoundation:       chooseFoundation,
	blockActivity:         chooseActivity,
	blockLoops:            chooseLoops,
	blockGoals:            chooseGoals,
	blockRelevantMemories: chooseRelevantMemories,
	blockMessages:         chooseMessages,
	blockThread:           chooseThread,
	blockProfile:          chooseProfile,
	blockEngagement:       chooseEngagement,
	blockUserSummary:      chooseUserSummary,
	blockWins:             chooseWins,
	blockSpine:            chooseSpine,
	blockLatest:           chooseLatest,
	blockSeed:             chooseSeed,
	blockState:            chooseState,
	blockSessions:         chooseSessions,
	blockExpertise:        chooseExpertise,
	blockInstruction:      chooseInstruction,
}

// overItems is the reason of an entry that its block's number of items keeps out.
const overItems = "over the number of items of its block"

// capItems marks what a block's number of items keeps out, the least valuable.
func capItems(entries []*entry, s *Slot) []*entry {
	kept := 0
	for _, e := range entries {
		if e.decision != "" {
			continue
		}
		if kept++; s.Cap.Items > 0 && kept > s.Cap.Items {
			e.out(overItems)
		}
	}
	return entries
}
