// Nodes {id, label, children} as nested <details>: opened and closed by keyboard, read by screen readers, and text only.
const Node = {
  name: "HrNode",
  template: `
    <details v-if="node.children" :open="depth < 2"><summary>{{ node.label }}</summary>
      <HrNode v-for="child in node.children" :key="child.id" :node="child" :depth="depth + 1" /></details>
    <div v-else>{{ node.label }}</div>`,
  props: { node: Object, depth: Number },
};
Node.components = { HrNode: Node };
export default {
  components: { HrNode: Node },
  template: `<div class="hr-tree" tabindex="0" role="region" :aria-label="label"><HrNode v-for="node in nodes" :key="node.id" :node="node" :depth="0" /></div>`,
  props: { nodes: Array, label: String },
};
