// Short names for the types that are generated from the OpenAPI document.
import type { components } from '../../../../clients/typescript/src/schema';

type Schemas = components['schemas'];

export type Session = Schemas['Session'];
export type NewSession = Schemas['NewSession'];
export type ChangedSession = Schemas['ChangedSession'];
export type Message = Schemas['Message'];
export type Deletion = Schemas['Deletion'];
export type NewMessage = Schemas['NewMessage'];
export type Memory = Schemas['Memory'];
export type MemoryPast = Schemas['MemoryPast'];
export type NewMemory = Schemas['NewMemory'];
export type ChangedMemory = Schemas['ChangedMemory'];
export type Todo = Schemas['Todo'];
export type NewTodo = Schemas['NewTodo'];
export type ChangedTodo = Schemas['ChangedTodo'];
export type Goal = Schemas['Goal'];
export type NewGoal = Schemas['NewGoal'];
export type ChangedGoal = Schemas['ChangedGoal'];
export type CheckIn = Schemas['CheckIn'];
export type UserSummary = Schemas['UserSummaryDoc'];
export type Spine = Schemas['Spine'];
export type Seed = Schemas['SeedDoc'];
export type Usage = Schemas['UsageDoc'];
export type Health = Schemas['HealthDoc'];
export type Migration = Schemas['MigrationDoc'];
export type Preferences = Schemas['PreferencesDoc'];
export type Profile = Schemas['ProfileDoc'];
export type Coach = Schemas['Coach'];
export type CoachDoc = Schemas['CoachDoc'];
export type Prompt = Schemas['Prompt'];
export type PromptBody = Schemas['PromptBody'];
export type PromptRecord = Schemas['PromptRecord'];
export type Manifest = Schemas['PromptManifest'];
export type Block = Schemas['PromptBlock'];
export type Item = Schemas['PromptItem'];
export type Degradation = Schemas['RecallDegradation'];
export type RecallAnswer = Schemas['RecallAnswer'];
export type Receipt = Schemas['Receipt'];
export type Erasing = Schemas['Erasing'];
export type Problem = Schemas['Problem'];
export type ChatBody = Schemas['ChatBody'];
export type ChatBuilt = Schemas['ChatBuilt'];
export type ChatToken = Schemas['ChatToken'];
export type ChatDone = Schemas['ChatDone'];
export type ContextName = NewSession['context'];

export interface Page<T> {
  items: T[];
  nextCursor?: string;
}
