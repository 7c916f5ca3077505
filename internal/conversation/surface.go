package conversation

import (
	"strings"

	"github.com/throughline/throughline/internal/fault"
)

// RecordType names what a summary is about (unified-conversation-context, "Existing Pinecone Summary Inventory").
type RecordType string

// The record types of the specification's inventory, one for each kind of conversation.
const (
	ConversationSummary    RecordType = "conversation_summary"
	CoachCreatorSummary    RecordType = "coach_creator_summary"
	ProgramDesignerSummary RecordType = "program_designer_summary"
	ProgramSummary         RecordType = "program_summary"
	WorkoutSummary         RecordType = "workout_summary"
)

// Surface is the registry entry of one context: one surface of the app (design 3.1). An app adds a context of its
// own by adding one entry to Surfaces.
type Surface struct {
	// Context is the name in the API and in sourceContext.
	Context string
	// Label is the name a person reads: "Program Designer".
	Label string
	// Prefix begins the sort key of its sessions; it ends in the only '#' that it has.
	Prefix string
	// EntityType is the session record's type as the app's own records have it.
	EntityType string
	// DefaultMode is the mode of a session that names none.
	DefaultMode string
	// Writes is the record type of its summaries.
	Writes RecordType
	// Reads are the record types that matter at the start of its own sessions.
	Reads []RecordType
	// SubjectAttribute, when set, names the session attribute whose value a summary is kept by instead of the
	// session: one summary for each program or workout (design 3).
	SubjectAttribute string
	// FieldAttributes are the session attributes that the summary carries as its own metadata fields.
	FieldAttributes []string
}

// Surfaces is the registry of contexts (design 3.1), in the order in which they are listed.
var Surfaces = []Surface{
	{
		Context: "coach_conversation", Label: "Coach", Prefix: "conversation#",
		EntityType: "coach_conversation", DefaultMode: "chat", Writes: ConversationSummary,
		Reads: []RecordType{ProgramDesignerSummary, ProgramSummary, WorkoutSummary},
	},
	{
		Context: "program_designer", Label: "Program Designer", Prefix: "program_session#",
		EntityType: "program_designer_session", DefaultMode: "program_design", Writes: ProgramDesignerSummary,
		Reads:           []RecordType{ConversationSummary},
		FieldAttributes: []string{"programId", "programName", "conversationTurns", "trainingGoals", "equipmentConstraints"},
	},
	{
		Context: "coach_creator", Label: "Coach Creator", Prefix: "coach_creator_session#",
		EntityType: "coach_creator_session", DefaultMode: "coach_creation", Writes: CoachCreatorSummary,
		Reads:           []RecordType{ConversationSummary},
		FieldAttributes: []string{"coachName", "selectedPersonality", "selectedMethodology", "experienceLevel", "trainingFrequency"},
	},
	{
		Context: "training_program", Label: "Training Program", Prefix: "training_program#",
		EntityType: "training_program_session", DefaultMode: "program", Writes: ProgramSummary,
		Reads:            []RecordType{ConversationSummary, ProgramDesignerSummary},
		SubjectAttribute: "programId",
		FieldAttributes:  []string{"programId", "programName", "totalDays", "phaseNames", "trainingGoals", "adherenceRate"},
	},
	{
		Context: "workout_log", Label: "Workout Log", Prefix: "workout_session#",
		EntityType: "workout_log_session", DefaultMode: "workout_log", Writes: WorkoutSummary,
		Reads:            []RecordType{ProgramSummary, ConversationSummary},
		SubjectAttribute: "workoutId",
		FieldAttributes:  []string{"workoutId", "discipline", "workoutName", "completedAt", "prAchievements"},
	},
}

// SurfaceOf returns the registry entry of a context; an unknown one is an Invalid error that names those there are.
func SurfaceOf(context string) (Surface, error) {
	for _, s := range Surfaces {
		if s.Context == context {
			return s, nil
		}
	}
	return Surface{}, fault.InvalidField("context", "must be one of "+strings.Join(Contexts(), ", "))
}

// LabelOf is how a context is called to a reader; what an app has taken out of the registry since is called by the other
// words.
func LabelOf(context, unknown string) string {
	for _, s := range Surfaces {
		if s.Context == context {
			return s.Label
		}
	}
	return unknown
}

// SurfaceWriting returns the registry entry of the context whose summaries have that record type.
func SurfaceWriting(t RecordType) (Surface, error) {
	for _, s := range Surfaces {
		if s.Writes == t {
			return s, nil
		}
	}
	return Surface{}, fault.InvalidField("recordTypes", "unknown record type "+string(t))
}

// Contexts lists the names of the registered contexts, in registry order.
func Contexts() []string {
	names := make([]string, len(Surfaces))
	for i, s := range Surfaces {
		names[i] = s.Context
	}
	return names
}
