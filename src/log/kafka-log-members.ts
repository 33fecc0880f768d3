import { type Admin, AssignerProtocol } from 'kafkajs';

/**
 * Reads which partitions the members of a group were assigned, by topic; none of a group that is not there or shares them again.
 */
export async function readAssigned(
  admin: Pick<Admin, 'describeGroups'>,
  group: string,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const { groups } = await admin.describeGroups([group]);
  const assigned = new Map<string, Set<number>>();
  for (const { memberAssignment } of groups.flatMap(({ members }) => members)) {
    if (memberAssignment.length === 0) continue; // while a group is shared nobody is assigned anything
    const { assignment = {} } = AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
    for (const [topic, partitions] of Object.entries(assignment))
      assigned.set(topic, new Set([...(assigned.get(topic) ?? []), ...partitions]));
  }
  return assigned;
}
