// A labelled native checkbox.
export default {
  template: `<label class="hr-check"><input type="checkbox" :checked="current" :disabled="disabled" @change="current = $event.target.checked; $emit('changed', { value: current })" />{{ label }}</label>`,
  data() { return { current: this.value }; },
  props: { label: String, value: Boolean, disabled: Boolean },
};
